#!/bin/sh
# A pre-commit hook: refuses commits that hold files of a `.geometry/` folder. Journals and private memories are not for a
# repository; `tripwire` excludes the folder by itself, but `git add -f` and a workspace that is older do not ask.
#
# As a git hook: cp packaging/ci/refuse-geometry.sh .git/hooks/pre-commit
# With pre-commit: see .pre-commit-hooks.yaml of this repository.
set -eu

staged=$(git diff --cached --name-only --diff-filter=ACMR | grep -E '(^|/)\.geometry/' || true)
[ -n "$staged" ] || exit 0
printf 'error: files of a .geometry/ folder are about to be committed:\n%s\n' "$staged" >&2
printf 'hint: take them out with `git restore --staged FILE`; journals and memories are not for a repository\n' >&2
exit 1

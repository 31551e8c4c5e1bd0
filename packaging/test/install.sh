#!/usr/bin/env bash
# Installs every package of a release in a clean folder, without cargo and without anything of this person's, and prints how
# long each took. What a machine cannot try is skipped loudly.
#
#   packaging/test/install.sh DIST
set -euo pipefail

dist=$(cd "${1:?the folder of a release}" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT
python=$(command -v "${PYTHON:-python3}" || true)
[[ -z $python ]] || python=$("$python" -c 'import sys; print(sys.executable)')
version=$("$dist/tripwire" --version)
failed=0

# A command in an environment that has neither cargo nor a person's settings, only what fetches packages may need.
clean() {
    env -i PATH="${CLEAN_PATH:-/usr/bin:/bin}" HOME="$work/home" \
        ${SSL_CERT_FILE:+SSL_CERT_FILE="$SSL_CERT_FILE"} ${HTTPS_PROXY:+HTTPS_PROXY="$HTTPS_PROXY"} "$@"
}

# Runs one install in a folder of its own and prints its time.
try() {
    local name=$1 begun ended status
    shift
    mkdir -p "$work/home" "$work/$name"
    begun=$(date +%s%N)
    # Beside `||` or `if`, bash would not stop at the first command that fails.
    set +e
    (
        set -e
        cd "$work/$name"
        "$@"
    ) >"$work/$name.log" 2>&1
    status=$?
    set -e
    ended=$(date +%s%N)
    if ((status == 77)); then
        printf '%-12s SKIPPED: %s\n' "$name" "$(tail -1 "$work/$name.log")"
    elif ((status == 0)); then
        printf '%-12s ok in %d.%03d s\n' "$name" $(((ended - begun) / 1000000000)) $(((ended - begun) / 1000000 % 1000))
    else
        printf '%-12s FAILED (%d)\n' "$name" "$status"
        sed 's/^/    /' "$work/$name.log"
        failed=1
    fi
}

skip() {
    printf '%s\n' "$*"
    exit 77
}

# What every installed binary must do: say its version, decide, and guard a program over its pipes.
works() {
    local binary=$1
    [[ $(clean "$binary" --version) == "$version" ]]
    clean "$binary" --version --verbose | grep '^linking: static' >/dev/null
    mkdir -p project && cd project
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1}}' \
        '{"jsonrpc":"2.0","id":2,"method":"before","params":{"tool":"Bash","args":{"command":"rm -rf /"}}}' |
        clean "$binary" serve --stdio | grep '"kind":"held"' >/dev/null
}

# Most pages that a hook of the shipped binary may touch. Far more means that packaging/hook-order.txt is old: it says how to
# make it again.
faults_max=160

hook_touches_few_pages() {
    [[ $(uname -m) == x86_64 ]] || skip "functions are ordered for x86-64 alone"
    [[ -n $python ]] || skip "no python3"
    mkdir project
    clean "$python" "$here/hook_faults.py" "$dist/tripwire" "$PWD/project" "$faults_max"
}

checksums() { cd "$dist" && sha256sum --quiet -c SHA256SUMS; }

script() {
    clean sh "$dist/install.sh" --from "$dist" --to "$PWD/bin"
    works "$PWD/bin/tripwire"
}

script_refuses_a_wrong_checksum() {
    mkdir release && cp "$dist/tripwire" "$dist/SHA256SUMS" release/
    printf x >>release/tripwire
    if clean sh "$dist/install.sh" --from "$PWD/release" --to "$PWD/bin"; then return 1; fi
    [[ ! -e bin/tripwire ]]
}

wheel() {
    [[ -n $python ]] || skip "no python3"
    compgen -G "$dist/*.whl" >/dev/null || skip "no wheel in the release"
    clean "$python" -m venv venv
    clean venv/bin/python -m pip install --quiet --no-index --disable-pip-version-check "$dist"/*.whl
    works "$PWD/venv/bin/tripwire"
    cd "$work/wheel" && mkdir -p loop && cd loop
    clean ../venv/bin/python "$here/loop.py"
}

npm_packages() {
    command -v npm >/dev/null || skip "no npm"
    clean npm install --offline --no-audit --no-fund --loglevel=error --prefix "$PWD" "$dist"/tripwire-guard-linux-*.tgz "$dist"/tripwire-guard-[0-9]*.tgz
    works "$PWD/node_modules/.bin/tripwire"
}

npm_names_a_missing_platform() {
    command -v npm >/dev/null || skip "no npm"
    clean npm install --offline --omit=optional --no-audit --no-fund --loglevel=error --prefix "$PWD" "$dist"/tripwire-guard-[0-9]*.tgz
    if clean node_modules/.bin/tripwire --version 2>said; then return 1; fi
    grep -q 'tripwire-guard-linux-' said
}

debian() {
    command -v dpkg-deb >/dev/null || skip "no dpkg-deb"
    dpkg-deb --info "$dist"/*.deb | grep 'Package: tripwire-guard' >/dev/null
    dpkg-deb --extract "$dist"/*.deb root
    works "$PWD/root/usr/bin/tripwire"
    [[ -s ../root/usr/share/man/man1/tripwire.1.gz ]]
}

# What a container FROM scratch holds: the binary and nothing else.
scratch() {
    [[ $(id -u) == 0 ]] || skip "a chroot needs root"
    mkdir -p root/usr/bin root/work root/tmp && cp "$dist/tripwire" root/usr/bin/
    [[ $(clean /usr/sbin/chroot root /usr/bin/tripwire --version) == "$version" ]]
    printf '%s\n' '{"timestamp":1,"tool":"Read","args":{"path":"a"}}' |
        clean /usr/sbin/chroot root /usr/bin/tripwire decide - --json | grep '"allowed":true' >/dev/null
}

formula() {
    command -v ruby >/dev/null || skip "no ruby to check the formula with"
    ruby -c "$dist/tripwire-guard.rb"
}

printf '%s, %d bytes\n' "$version" "$(stat -c %s "$dist/tripwire")"
for name in checksums hook_touches_few_pages script script_refuses_a_wrong_checksum wheel npm_packages npm_names_a_missing_platform debian scratch formula; do
    try "$name" "$name"
done
exit $failed

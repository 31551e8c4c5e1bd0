#!/bin/sh
# Installs the command `tripwire` @VERSION@ from a folder or an address that holds a release, after checking its checksum.
#
#   sh install.sh --from FOLDER_OR_URL [--to FOLDER]
#
# Nothing is installed unless the checksum of what was fetched stands in the release's SHA256SUMS.
set -eu

from=${TRIPWIRE_RELEASE:-}
to=${TRIPWIRE_INSTALL_DIR:-${HOME:?HOME is not set}/.local/bin}

fail() {
    printf 'error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
        --from) [ $# -ge 2 ] || fail "--from needs a folder or an address"; from=$2; shift 2 ;;
        --to) [ $# -ge 2 ] || fail "--to needs a folder"; to=$2; shift 2 ;;
        *) fail "unknown argument: $1" "sh install.sh --from FOLDER_OR_URL [--to FOLDER]" ;;
    esac
done
[ -n "$from" ] || fail "no release is named" "sh install.sh --from FOLDER_OR_URL, or set TRIPWIRE_RELEASE"

system=$(uname -s)-$(uname -m)
[ "$system" = Linux-x86_64 ] || fail "there is no binary for $system here" "build from source with cargo install"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

get() {
    case $from in
        http://127.0.0.1* | https://*)
            if command -v curl >/dev/null 2>&1; then
                curl --proto '=http,https' -fsSL "$from/$1" -o "$work/$1" || fail "cannot fetch $from/$1"
            elif command -v wget >/dev/null 2>&1; then
                wget -q "$from/$1" -O "$work/$1" || fail "cannot fetch $from/$1"
            else
                fail "neither curl nor wget is here"
            fi
            ;;
        http://*) fail "an address without TLS is not trusted: $from" "use https" ;;
        *) cp "$from/$1" "$work/$1" 2>/dev/null || fail "there is no $1 in $from" ;;
    esac
}

get SHA256SUMS
get tripwire
wanted=$(awk '$2 == "tripwire" { print $1 }' "$work/SHA256SUMS")
[ -n "$wanted" ] || fail "SHA256SUMS does not name the binary"
if command -v sha256sum >/dev/null 2>&1; then
    found=$(sha256sum "$work/tripwire" | cut -d' ' -f1)
else
    found=$(shasum -a 256 "$work/tripwire" | cut -d' ' -f1)
fi
[ "$wanted" = "$found" ] || fail "the checksum is wrong: nothing is installed" "expected $wanted, found $found"

mkdir -p "$to"
chmod 755 "$work/tripwire"
# In one step, so that a running tripwire keeps its own file.
mv -f "$work/tripwire" "$to/.tripwire.new"
mv -f "$to/.tripwire.new" "$to/tripwire"
"$to/tripwire" --version
case :$PATH: in
    *":$to:"*) ;;
    *) printf 'note: %s is not in PATH\n' "$to" ;;
esac

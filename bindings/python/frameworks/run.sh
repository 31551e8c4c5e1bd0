#!/usr/bin/env bash
# The matrix of frameworks at their pinned versions, in a venv below target/. TRIPWIRE_FRAMEWORK names one of requirements.txt, which is
# installed and tried alone. Skips loudly where they cannot be installed; further words are handed to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

python=${PYTHON:-python3}
only=${TRIPWIRE_FRAMEWORK:-}
venv=$(cd .. && pwd)/target/frameworks${only:+-$only}
wanted=$(cat requirements.txt)
if [[ -n $only ]]; then
    wanted=$(grep -E "^($only|pytest|maturin)(\[|==)|# for $only\$" requirements.txt)
    if ! grep -qE "^$only(\[|==)" <<<"$wanted"; then
        printf 'error: requirements.txt does not name `%s`\n' "$only" >&2
        exit 2
    fi
    # The tests have the name of the package, the example that of its module.
    set -- -k "$only or $(sed 's/-slim$//; s/-/_/g' <<<"$only")" "$@"
fi
sum=$(printf '%s' "$wanted" | cat - constraints.txt | sha256sum | cut -c1-16)
if ! "$python" -c 'import venv, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    printf '!! NO PYTHON 3.10 OR NEWER WITH venv -- no framework is tried\n' >&2
    exit 0
fi
if [[ ! -e $venv/.installed-$sum ]]; then
    "$python" -m venv "$venv"
    if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r /dev/stdin -c constraints.txt <<<"$wanted"; then
        printf '!! COULD NOT INSTALL %s -- it is not tried\n' "${only:-THE FRAMEWORKS}" >&2
        exit 0
    fi
    touch "$venv/.installed-$sum"
fi
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$(cd ../../.. && pwd)/target}
export CARGO_TARGET_DIR
if [[ -z ${TRIPWIRE_BINARY:-} ]]; then
    (cd ../../.. && cargo build --quiet)
    export TRIPWIRE_BINARY=$CARGO_TARGET_DIR/debug/tripwire
fi
(cd .. && VIRTUAL_ENV=$venv "$venv/bin/maturin" develop --quiet --locked)
exec "$venv/bin/python" -m pytest -q "$@"

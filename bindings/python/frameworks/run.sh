#!/usr/bin/env bash
# The matrix of frameworks at their pinned versions, in a venv below target/. Skips loudly where they cannot be installed; further
# words are handed to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

python=${PYTHON:-python3}
venv=$(cd .. && pwd)/target/frameworks
sum=$(sha256sum requirements.txt | cut -c1-16)
if ! "$python" -c 'import venv, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    printf '!! NO PYTHON 3.10 OR NEWER WITH venv -- no framework is tried\n' >&2
    exit 0
fi
if [[ ! -e $venv/.installed-$sum ]]; then
    "$python" -m venv "$venv"
    if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements.txt </dev/null; then
        printf '!! COULD NOT INSTALL THE FRAMEWORKS -- none is tried\n' >&2
        exit 0
    fi
    touch "$venv/.installed-$sum"
fi
if [[ -z ${TRIPWIRE_BINARY:-} ]]; then
    (cd ../../.. && cargo build --quiet)
    TRIPWIRE_BINARY=$(cd ../../.. && pwd)/target/debug/tripwire
    export TRIPWIRE_BINARY
fi
(cd .. && VIRTUAL_ENV=$venv "$venv/bin/maturin" develop --quiet --locked)
exec "$venv/bin/python" -m pytest -q "$@"

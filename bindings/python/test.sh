#!/usr/bin/env bash
# Builds the Python package into a venv below target/ and runs its tests. Skips loudly where there is no Python; further words
# are handed to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly MATURIN="maturin==1.16.0" PYTEST="pytest==9.2.0"
python=${PYTHON:-python3}
if ! "$python" -c 'import venv, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    printf '!! NO PYTHON 3.10 OR NEWER WITH venv -- the Python package is not tested\n' >&2
    exit 0
fi
venv=target/venv
if [[ ! -x $venv/bin/pytest || ! -x $venv/bin/maturin ]]; then
    "$python" -m venv "$venv"
    if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$MATURIN" "$PYTEST" </dev/null; then
        printf '!! COULD NOT INSTALL %s AND %s -- the Python package is not tested\n' "$MATURIN" "$PYTEST" >&2
        exit 0
    fi
fi
# What the workspace has compiled of the same dependencies is not compiled again.
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$(cd ../.. && pwd)/target}
export CARGO_TARGET_DIR
# The binary that the tests compare with, of the same sources.
if [[ -z ${TRIPWIRE_BINARY:-} ]]; then
    (cd ../.. && cargo build --quiet)
    export TRIPWIRE_BINARY=$CARGO_TARGET_DIR/debug/tripwire
fi
VIRTUAL_ENV=$PWD/$venv "$venv/bin/maturin" develop --quiet --locked
exec "$venv/bin/pytest" -q "$@"

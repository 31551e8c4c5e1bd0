#!/bin/sh
# A wrapper of rustc for `cargo xtask dist`. Cargo gives each crate a number from the folder it lies in, as long as that folder
# is outside of the workspace that is built; the workspace of the Python module uses the crates beside it. Our own crates get a
# number from their name and version instead, so that a wheel has the same bytes wherever it is built.
set -eu

rustc=$1
shift
case ${CARGO_MANIFEST_DIR:-} in
"$TRIPWIRE_SOURCES"/*)
    for argument in "$@"; do
        shift
        case $argument in
        metadata=*) argument=metadata=$CARGO_PKG_NAME-$CARGO_PKG_VERSION ;;
        esac
        set -- "$@" "$argument"
    done
    ;;
esac
exec "$rustc" "$@"

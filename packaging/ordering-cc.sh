#!/bin/sh
# The linker of the shipped binary: `cc`, with two things done to what is linked.
#
# The functions of a hook are placed side by side. packaging/hook-order.txt lists them as they are written in the sources; the
# symbols of a build carry numbers of their crates, which change with every dependency, so the symbols that are meant are looked
# up here. The build has to name functions with their types (`-C symbol-mangling-version=v0`).
#
# The tables for unwinding are left out, a twelfth of the binary: a program that aborts at a panic never reads them, and
# `-C force-unwind-tables=no` has no effect under link-time optimisation.
#
# Needs `nm`, `c++filt` and `objcopy` (binutils); without them it links as `cc` does.
set -eu

list=
for argument in "$@"; do
    case $argument in
    --symbol-ordering-file=*) list=${argument#*=} ;;
    esac
done
if [ -z "$list" ] || ! command -v nm >/dev/null || ! command -v c++filt >/dev/null || ! command -v objcopy >/dev/null; then
    exec "${CC:-cc}" "$@"
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for argument in "$@"; do
    case $argument in
    *.o | *.rlib | *.a) nm --defined-only "$argument" 2>/dev/null || true ;;
    esac
done | awk 'NF == 3 && $2 ~ /^[tTwW]$/ { print $3 }' >"$folder/symbols"
# Copies that the optimiser made of a function carry a number at their end, and crates one in brackets. Names of C are symbols as
# they are: the C library is found by the linker and is none of the arguments.
sed -E 's/\.(llvm\.)?[0-9]+$//' "$folder/symbols" | c++filt | sed -E 's/\[[0-9a-f]{12,16}\]//g' >"$folder/names"
paste "$folder/names" "$folder/symbols" | awk -F '\t' '
    NR == FNR { place[$0] = NR; if ($0 ~ /^[A-Za-z0-9_]+$/) plain[$0] = 1; next }
    $1 in place { print place[$1] "\t" $2; delete plain[$1] }
    END { for (name in plain) print place[name] "\t" name }
' "$list" - | sort -n -k1,1 -s | cut -f2 >"$folder/order"

count=0
for argument in "$@"; do
    shift
    case $argument in
    --symbol-ordering-file=*) argument=--symbol-ordering-file=$folder/order ;;
    *.o)
        count=$((count + 1))
        objcopy --remove-section .eh_frame --remove-section .rela.eh_frame "$argument" "$folder/$count.o"
        argument=$folder/$count.o
        ;;
    esac
    set -- "$@" "$argument"
done
"${CC:-cc}" "$@"

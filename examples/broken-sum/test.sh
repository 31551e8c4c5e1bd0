#!/bin/sh
# The tests of sum.sh: one line for each, exit code 0 if all pass.
failed=0
check() {
    expected=$1
    shift
    found=$(sh sum.sh "$@")
    if [ "$found" = "$expected" ]; then
        echo "ok: sum of '$*' is $expected"
    else
        echo "FAILED: sum of '$*' is $found, expected $expected"
        failed=$((failed + 1))
    fi
}
check 0
check 7 7
check 6 1 2 3
check 0 -5 5
check 100 40 30 20 10
echo "$failed of 5 tests failed"
[ "$failed" -eq 0 ]

#!/bin/sh
# Prints the sum of its arguments.
total=0
while [ "$#" -gt 1 ]; do
    total=$((total + $1))
    shift
done
echo "$total"

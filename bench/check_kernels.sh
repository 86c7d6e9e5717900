#!/bin/sh
# A test: every benchmark of bench/kernels has its sides, and those in C, and the launching halves of those in OpenCL, are valid C.
set -eu
cd "$(dirname "$0")/kernels"
for cuda in *.cu; do
    name=${cuda%.cu}
    for part in "$name.h" "$name.c" "$name.cl"; do
        [ -f "$part" ] || {
            echo "$cuda has no $part" >&2
            exit 1
        }
    done
    for source in "$name.c" "$name.cl" "$name.vec.c"; do
        [ ! -f "$source" ] || gcc -fsyntax-only -Wall -Wextra -Werror -Wno-psabi -fopenmp -x c "$source"
    done
done

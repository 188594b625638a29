# shellcheck shell=sh disable=SC2034,SC2154  # sourced by record.sh, which reads and sets the variables
# CHOLMOD of SuiteSparse: its own demo, without supernodes and so without a BLAS; two bodies, a plate and a block.
package=suitesparse

build() {
    # shellcheck disable=SC2086  # the flags are words
    gcc $flags -w -DNSUPERNODAL -DNPARTITION -ISuiteSparse_config -ICHOLMOD/Include -IAMD/Include -ICOLAMD/Include \
        -o cholmod-pg CHOLMOD/Demo/cholmod_demo.c CHOLMOD/Core/c*.c CHOLMOD/Check/*.c CHOLMOD/Cholesky/c*.c \
        CHOLMOD/MatrixOps/c*.c AMD/Source/amd_*.c COLAMD/Source/colamd.c SuiteSparse_config/SuiteSparse_config.c -lm -lrt
}

# The matrix of two grids that do not touch: a plate of 250 x 250 points first, then a block of 32 x 32 x 32.
input() {
    LC_ALL=C awk -v plate=250 -v side=32 'BEGIN {
        area = plate * plate; n = area + side ^ 3
        print "%%MatrixMarket matrix coordinate real symmetric"
        print n, n, n + 2 * plate * (plate - 1) + 3 * side * side * (side - 1)
        for (y = 0; y < plate; y++) for (x = 0; x < plate; x++) {
            v = 1 + x + plate * y
            print v, v, 4.1
            if (x < plate - 1) print v + 1, v, -1
            if (y < plate - 1) print v + plate, v, -1
        }
        for (z = 0; z < side; z++) for (y = 0; y < side; y++) for (x = 0; x < side; x++) {
            v = area + 1 + x + side * (y + side * z)
            print v, v, 6.1
            if (x < side - 1) print v + 1, v, -1
            if (y < side - 1) print v + side, v, -1
            if (z < side - 1) print v + side * side, v, -1
        }
    }' >bodies.mtx
}

run() {
    recorded "$tree/cholmod-pg" "$data/bodies.mtx"
}

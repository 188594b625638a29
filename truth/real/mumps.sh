# shellcheck shell=sh
# MUMPS' example dsimpletest, sequential: a system of 160 x 160 x 9 unknowns is read from standard input, analysed (with its
# own ordering PORD), factorised and solved. Reference BLAS and LAPACK are those that the recipe for LAPACK builds.
# shellcheck disable=SC2034,SC2154
package=mumps

build() {
    sh "$recipes/record.sh" lapack -O "$level" build
    libraries=$scratch/lapack/tree-O$level
    sed "s/^CC .*/CC = gcc/; s/^FC .*/FC = gfortran/; s/^FL .*/FL = gfortran/; s/^OPTC .*/OPTC = $flags -I./; s/^OPTL .*/OPTL = -pg/
        s/^OPTF .*/OPTF = $flags -fallow-argument-mismatch/; s|^LAPACK .*|LAPACK = $libraries/liblapack.a|
        s|^LIBBLAS .*|LIBBLAS = $libraries/librefblas.a|" Make.inc/Makefile.inc.generic.SEQ >Makefile.inc
    # Debian's Makefile makes shared libraries beside the static ones
    sed -i '/^[[:space:]]/s| [^ ]*(LIBEXT_SHARED)$||' src/Makefile
    make -j1 d
}

# the seven-point stencil on a plate, not quite symmetric
input() {
    awk 'BEGIN {
        n = 160
        layers = 9
        print n * n * layers "\n" 7 * n * n * layers - 4 * n * layers - 2 * n * n
        for (z = 0; z < layers; z++)
            for (y = 0; y < n; y++)
                for (x = 0; x < n; x++) {
                    here = 1 + x + n * (y + n * z)
                    print here, here, "6.5"
                    if (x > 0) print here, here - 1, "-1.2"
                    if (x < n - 1) print here, here + 1, "-0.8"
                    if (y > 0) print here, here - n, "-1.1"
                    if (y < n - 1) print here, here + n, "-0.9"
                    if (z > 0) print here, here - n * n, "-1.0"
                    if (z < layers - 1) print here, here + n * n, "-1.0"
                }
        for (here = 0; here < n * n * layers; here++) print 1 + here % 7 ".0"
    }' >system
}

run() {
    recorded "$tree/examples/dsimpletest" <"$data/system"
}

# shellcheck shell=sh
# LAPACK's own checks of its linear equation routines (TESTING/LIN, xlintstd), reference BLAS included, on larger matrices
# than the shipped input has: the drivers' limit NMAX is raised, and the sizes and paths are those of `input` below.
# shellcheck disable=SC2034,SC2154
package=lapack

build() {
    sed "s/^FFLAGS = .*/FFLAGS = $flags -frecursive/; s/^FFLAGS_NOOPT = .*/FFLAGS_NOOPT = -pg -g -O0 -frecursive/
        s/^CFLAGS = .*/CFLAGS = $flags/; s/^LDFLAGS =.*/LDFLAGS = -pg/" make.inc.example >make.inc
    sed -i 's/NMAX = 132/NMAX = 260/' TESTING/LIN/dchkaa.F
    make -C BLAS/SRC double
    make -C INSTALL dlamch.o slamch.o dsecnd_INT_ETIME.o second_INT_ETIME.o ilaver.o lsame.o
    make -C SRC double
    make -C TESTING/MATGEN double
    make -C TESTING/LIN double
}

input() {
    cat >lin.in <<END
Linear equations
1
245
12
140 150 160 170 180 190 200 210 220 230 240 250
2
2 15
3
1 16 32
0 0 0
1
50
30.0
T
F
F
DGE   11
DPO    9
DSY   10
DTR   18
DQR    2
4 5
END
}

run() {
    recorded "$tree/TESTING/LIN/xlintstd" <"$data/lin.in"
}

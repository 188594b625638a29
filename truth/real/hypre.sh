# shellcheck shell=sh
# hypre's test driver `ij` on two MPI ranks: conjugate gradients with a factorised sparse approximate inverse (FSAI).
# shellcheck disable=SC2034,SC2154
package=hypre

build() {
    cd src
    ./configure --with-MPI --disable-fortran --without-superlu --without-dsuperlu --without-fei \
        CC=mpicc CXX=mpicxx CFLAGS="$flags" CXXFLAGS="$flags" LDFLAGS=-pg
    make -j1
    make -C test -j1 ij
}

run() {
    recorded mpirun --oversubscribe --allow-run-as-root -n 2 "$tree/src/test/ij" -n 128 128 128 -P 1 1 2 \
        -solver 31 -fs_max_steps 8 -fs_max_step_size 1 -tol 1e-10
}

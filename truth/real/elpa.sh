# shellcheck shell=sh
# ELPA's own test of its two-stage eigensolver for real symmetric matrices, without MPI, with OpenMP: two threads. Reference BLAS
# and LAPACK are those that the recipe for LAPACK builds; plain Fortran kernels, so that the same code runs on every machine.
# shellcheck disable=SC2034,SC2086,SC2154
package=elpa

build() {
    sh "$recipes/record.sh" lapack -O "$level" build
    libraries=$scratch/lapack/tree-O$level
    # ELPA's library wants complex numbers as well, and they are not called here
    mkdir complex
    (
        cd complex
        from=$scratch/lapack/src
        gfortran $flags -c "$from"/SRC/la_constants.f90 "$from"/SRC/la_xisnan.F90
        for name in zpotrf zpotrf2 zlaset ztrtri ztrti2 zlange; do gfortran $flags -c "$from/SRC/$name.f"; done
        gfortran $flags -c "$from"/SRC/zlassq.f90 "$from"/BLAS/SRC/z*.f "$from"/BLAS/SRC/dcabs1.f
        ar cr libcomplex.a ./*.o
    )
    libraries="$tree/complex/libcomplex.a $libraries/liblapack.a $libraries/librefblas.a"
    mkdir build
    cd build
    ../configure --with-mpi=no --enable-openmp --disable-shared --enable-static --disable-sse --disable-sse-assembly \
        --disable-avx --disable-avx2 --disable-avx512 --disable-c-tests --disable-cpp-tests \
        CC=gcc FC=gfortran CPP="gcc -E" CFLAGS="$flags" FCFLAGS="$flags" LDFLAGS=-pg LIBS="$libraries"
    make -j1 validate_real_double_eigenvectors_2stage_default_kernel_random
}

run() {
    OMP_NUM_THREADS=2
    export OMP_NUM_THREADS
    recorded "$tree/build/validate_real_double_eigenvectors_2stage_default_kernel_random" 1800 1800 16
}

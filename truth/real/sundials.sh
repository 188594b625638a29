# shellcheck shell=sh
# CVODES, from SUNDIALS: its adjoint example cvsFoodWeb_ASAi_kry on a finer mesh. A food web in two dimensions is integrated
# forward in time, with check points, and its adjoint backward, for which the first stretch is integrated forward again.
# shellcheck disable=SC2034,SC2154
package=sundials

build() {
    sed -i 's/^#define MX    20/#define MX    64/; s/^#define MY    20/#define MY    64/' examples/cvodes/serial/cvsFoodWeb_ASAi_kry.c
    mkdir build
    cd build
    cmake .. -DCMAKE_BUILD_TYPE= -DCMAKE_C_FLAGS="$flags" -DCMAKE_EXE_LINKER_FLAGS=-pg -DBUILD_SHARED_LIBS=OFF -DBUILD_STATIC_LIBS=ON \
        -DBUILD_ARKODE=OFF -DBUILD_CVODE=OFF -DBUILD_IDA=OFF -DBUILD_IDAS=OFF -DBUILD_KINSOL=OFF -DEXAMPLES_ENABLE_C=ON
    make -j1 cvsFoodWeb_ASAi_kry
}

run() {
    recorded "$tree/build/examples/cvodes/serial/cvsFoodWeb_ASAi_kry"
}

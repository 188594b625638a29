# NLopt's own program for tests: four global methods, one after the other, on the same function of ten variables.
# shellcheck shell=sh disable=SC2034,SC2154
package=nlopt

build() {
    # a build type would set a level of optimization of its own
    cmake -B build -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="$flags" -DCMAKE_EXE_LINKER_FLAGS=-pg \
        -DBUILD_SHARED_LIBS=OFF -DNLOPT_TESTS=ON -DNLOPT_CXX=OFF -DNLOPT_FORTRAN=OFF -DNLOPT_PYTHON=OFF -DNLOPT_OCTAVE=OFF \
        -DNLOPT_MATLAB=OFF -DNLOPT_GUILE=OFF -DNLOPT_SWIG=OFF
    make -C build testopt
}

# -e: evaluations, -a: the method (see testopt -L), -o: the function, which starts the search
run() {
    recorded "$tree/build/test/testopt" -r 20261123 -e 250000 -a 1 -o 13 -e 6000000 -a 19 -o 13 \
        -e 2500000 -a 35 -o 13 -e 12000000 -a 42 -o 13
}

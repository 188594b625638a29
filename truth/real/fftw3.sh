# FFTW's own program for tests: the accuracy of one transform, the verification of another, the speed of a third.
# shellcheck shell=sh disable=SC2034,SC2154
package=fftw3

build() {
    ./configure --disable-shared --enable-static --disable-fortran --disable-doc CFLAGS="$flags" LDFLAGS=-pg
    make
}

# -oestimate: plans are chosen without measuring, so they are the same everywhere
run() {
    recorded "$tree/tests/bench" -oestimate -a 524288 --verify-rounds=20 -y 512x512 -t 0.4 -s 262144
}

# GSL: its manual's example of Monte Carlo integration by three methods, with 80 times the points.
# shellcheck shell=sh disable=SC2034,SC2154
package=gsl

build() {
    ./configure --disable-shared CFLAGS="$flags" LDFLAGS=-pg
    for part in gsl err sys rng monte; do make -C "$part"; done
    sed 's/calls = 500000;/calls = 40000000;/' doc/examples/monte.c >example.c
    # shellcheck disable=SC2086  # the flags are words
    gcc $flags -I. -o example example.c monte/plain.o monte/miser.o monte/vegas.o rng/*.o err/*.o sys/*.o -lm
}

run() { recorded "$tree/example"; }

# WavPack, the lossless encoder: a generated piece is packed, then unpacked again to see that nothing was lost.
# shellcheck shell=sh disable=SC2034,SC2154
package=wavpack

build() {
    ./configure --disable-shared --disable-asm --disable-dsd CFLAGS="$flags" LDFLAGS=-pg
    make
}

input() {
    gcc -O2 -o piece "$recipes/piece.c"
    ./piece 44100 2 500 >piece.wav
}

# -v: what has been packed is unpacked again, and compared
run() { recorded "$tree/cli/wavpack" -q -hh -x3 -v "$data/piece.wav" -o piece.wv; }

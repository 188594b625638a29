# flac, the lossless encoder: a generated piece with samples of 16 bits, then one of 24 bits, exhaustive search.
# shellcheck shell=sh disable=SC2034,SC2154
package=flac

build() {
    # without assembly: the routines in C, the same on every processor
    ./configure --disable-shared --disable-asm-optimizations --disable-ogg --disable-cpplibs \
        --disable-doxygen-docs CFLAGS="$flags" LDFLAGS=-pg
    make -C src/libFLAC
    make -C src/share
    make -C src/flac
}

input() {
    gcc -O2 -o piece "$recipes/piece.c"
    ./piece 48000 2 300 >sixteen.wav
    ./piece 48000 3 200 >twentyfour.wav
}

run() {
    # flac writes beside its input
    ln -s "$data/sixteen.wav" "$data/twentyfour.wav" .
    recorded "$tree/src/flac/flac" --silent -8 -e sixteen.wav twentyfour.wav
}

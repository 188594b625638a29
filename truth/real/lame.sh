# LAME, the MP3 encoder: one generated piece (chords with beats, plucks and noise), constant bit rate, best quality.
# shellcheck shell=sh disable=SC2034,SC2154
package=lame

build() {
    ./configure --disable-shared --disable-nasm --disable-gtktest CFLAGS="$flags" LDFLAGS=-pg
    make
}

input() {
    gcc -O2 -o piece "$recipes/piece.c"
    ./piece 44100 2 350 >piece.wav
}

run() { recorded "$tree/frontend/lame" --quiet -q 0 -b 192 "$data/piece.wav" piece.mp3; }

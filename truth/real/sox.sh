# SoX: a generated piece gets reverberation and another tempo, is brought to full scale, then resampled and filtered.
# shellcheck shell=sh disable=SC2034,SC2154
package=sox
source=upstream

build() {
    ./configure --disable-shared --disable-openmp --without-libltdl --without-magic --without-png --without-sndfile \
        --without-mad --without-lame --without-flac --without-oggvorbis --without-opus --without-ao --without-alsa \
        --without-pulseaudio --without-oss --without-id3tag --without-twolame \
        --without-wavpack CFLAGS="$flags" LDFLAGS=-pg
    make
}

input() {
    gcc -O2 -o piece "$recipes/piece.c"
    ./piece 44100 2 900 >piece.wav
}

# gain -n needs the loudest sample first, so it keeps everything, and gives it out when the input is at an end
run() { recorded "$tree/src/sox" -D "$data/piece.wav" -n reverb 60 tempo 0.9 gain -n rate -v 192k sinc -t 50 40-15k; }

# x264, the H.264 encoder, without assembly: a generated film, first quickly, then thoroughly.
# shellcheck shell=sh disable=SC2034,SC2154
package=x264

build() {
    # --enable-gprof only keeps x264 from adding -fomit-frame-pointer, which -pg does not go with
    ./configure --enable-gprof --disable-asm --disable-thread --disable-opencl --disable-interlaced \
        --disable-avs --disable-swscale --disable-lavf --disable-ffms --disable-gpac --disable-lsmash --bit-depth=8 \
        --extra-cflags="$flags" --extra-ldflags=-pg
    make
}

input() {
    gcc -O2 -o film "$recipes/film.c"
    ./film >film.yuv
}

run() {
    recorded "$tree/x264" --quiet --no-progress --preset slow --crf 22 --input-res 352x288 --fps 25 \
        --zones 0,639,ref=1,me=dia,subme=2,trellis=0/640,899,subme=9,me=umh,trellis=2,ref=5 -o film.264 "$data/film.yuv"
}

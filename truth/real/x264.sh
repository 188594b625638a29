# x264, the H.264 encoder, without assembly: a textured field that drifts behind moving discs; a quick zone, then a thorough one.
# shellcheck shell=sh disable=SC2034,SC2154
package=x264

build() {
    # --enable-gprof only keeps x264 from adding -fomit-frame-pointer, which -pg does not go with
    ./configure --enable-gprof --disable-asm --disable-thread --disable-opencl --disable-interlaced --disable-avs --disable-swscale \
        --disable-lavf --disable-ffms --disable-gpac --disable-lsmash --bit-depth=8 --extra-cflags="$flags" --extra-ldflags=-pg
    make
}

input() {
    cat >film.c <<'END'
#include <stdio.h>
enum { wide = 352, high = 288, frames = 900 };
static unsigned char texture[1024][1024], row[wide];
static unsigned state = 20261123;
static unsigned draw(unsigned n) { return (state = state * 1664525u + 1013904223u) >> 16 & 0x7fff ? (state >> 16) % n : 0; }
int main(void)
{
    for (int y = 0; y < 1024; y++)
        for (int x = 0; x < 1024; x++) texture[y][x] = 90 + (x * 7 / 16 + y / 5) % 41 + ((x / 23 + y / 17) % 2 ? 35 : 0) + draw(9);
    for (int t = 0; t < frames; t++) {
        for (int y = 0; y < high; y++) {
            for (int x = 0; x < wide; x++) {
                int value = texture[(y + t * 2) & 1023][(x + t * 3) & 1023];
                for (int disc = 0; disc < 6; disc++) {
                    int dx = x - (40 + disc * 61 + t * (disc * 2 - 5)) % wide, dy = y - (30 + disc * 37 + t * (7 - disc * 2)) % high;
                    if (dx * dx + dy * dy < 900 + disc * 150) value = texture[(dy * 2 + 512) & 1023][(dx * 2 + 100 * disc) & 1023] ^ 0x30;
                }
                row[x] = value + draw(5);
            }
            fwrite(row, 1, wide, stdout);
        }
        for (int plane = 0; plane < 2; plane++)
            for (int y = 0; y < high / 2; y++) {
                for (int x = 0; x < wide / 2; x++) row[x] = 128 + (plane ? 1 : -1) * (((x * 2 + t * 3) / 23 + (y * 2 + t * 2) / 17) % 2 * 20);
                fwrite(row, 1, wide / 2, stdout);
            }
    }
}
END
    gcc -O2 -o film film.c
    ./film >film.yuv
}

run() {
    recorded "$tree/x264" --quiet --no-progress --preset slow --crf 22 --input-res 352x288 --fps 25 \
        --zones 0,639,ref=1,me=dia,subme=2,trellis=0/640,899,subme=9,me=umh,trellis=2,ref=5 -o film.264 "$data/film.yuv"
}

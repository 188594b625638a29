# SoX: a generated piece gets reverberation and another tempo, is brought to full scale, and is then resampled and filtered.
# shellcheck shell=sh disable=SC2034,SC2154
package=sox
source=upstream

build() {
    # copied files have other times than autotools expects
    find . -exec touch -r . {} +
    ./configure --disable-shared --disable-openmp --without-libltdl --without-magic --without-png --without-sndfile --without-mad \
        --without-lame --without-flac --without-oggvorbis --without-opus --without-ao --without-alsa --without-pulseaudio --without-oss \
        --without-id3tag --without-twolame --without-wavpack CFLAGS="$flags" LDFLAGS=-pg
    make
}

input() {
    cat >piece.c <<'END'
#include <stdio.h>
enum { rate = 44100, seconds = 900, voices = 12 };
static unsigned state = 20261123;
static int noise(int amplitude) { return (int)((state = state * 1664525u + 1013904223u) >> 8 & 0xffff) * amplitude / 65536 - amplitude / 2; }
static void put(unsigned value, int bytes) { for (; bytes; bytes--, value >>= 8) putchar(value & 255); }
/* a wave between a sine and a triangle, from a phase of 16 bits; whole numbers alone, so that it is the same everywhere */
static int wave(unsigned phase)
{
    int x = (int)(phase & 0xffff) - 32768, a = x < 0 ? -x : x;
    return (int)((long long)x * (32768 - a) / 32768);
}
int main(void)
{
    static const int chord[4][voices] = {{131, 165, 196, 262, 330, 392, 523, 659, 784, 1047, 1319, 2093}, {147, 175, 220, 294, 349, 440, 587, 698,
        880, 1175, 1397, 2349}, {123, 147, 196, 247, 294, 392, 494, 587, 784, 988, 1175, 1976}, {110, 131, 165, 220, 262, 330, 440, 523, 659, 880,
        1047, 1760}};
    unsigned phase[voices] = {0};
    fputs("RIFF", stdout); put(36 + rate * seconds * 4, 4); fputs("WAVEfmt ", stdout);
    put(16, 4); put(1, 2); put(2, 2); put(rate, 4); put(rate * 4, 4); put(4, 2); put(16, 2);
    fputs("data", stdout); put(rate * seconds * 4, 4);
    for (int t = 0; t < rate * seconds; t++) {
        int left = noise(600), right = noise(600), pluck = 32768 - t % (rate / 4) * 32768 / (rate / 4);
        for (int v = 0; v < voices; v++) {
            phase[v] += chord[t / rate % 4][v] * 65536 / rate;
            int value = wave(phase[v]) / voices * 2;
            left += v % 2 ? value : (int)((long long)value * pluck / 32768);
            right += v % 3 ? value : (int)((long long)value * pluck / 32768);
        }
        put((unsigned)left, 2); put((unsigned)right, 2);
    }
}
END
    gcc -O2 -o piece piece.c
    ./piece >piece.wav
}

# gain -n needs the loudest sample first, so it keeps everything, and gives it out when the input is at an end
run() { recorded "$tree/src/sox" -D "$data/piece.wav" -n reverb 60 tempo 0.9 gain -n rate -v 192k sinc -t 50 40-15k; }

/* A piece of music as a WAVE file, for programs that take sound: piece RATE BYTES SECONDS >FILE, stereo, samples of 2
 * or 3 bytes. Whole numbers alone, so that it is the same everywhere: a chord a second, plucked four times, and some
 * noise. */
#include <stdio.h>
#include <stdlib.h>

enum { voices = 12 };

static unsigned state = 20261123;

static int noise(int amplitude)
{
    state = state * 1664525u + 1013904223u;
    return (int)(state >> 8 & 0xffff) * amplitude / 65536 - amplitude / 2;
}

static void put(unsigned value, int bytes)
{
    for (; bytes; bytes--, value >>= 8)
        putchar((int)(value & 255));
}

/* something between a sine and a triangle, from a phase of 16 bits */
static int wave(unsigned phase)
{
    int x = (int)(phase & 0xffff) - 32768, a = x < 0 ? -x : x;
    return (int)((long long)x * (32768 - a) / 32768);
}

int main(int count, char **word)
{
    static const int chord[4][voices] = {{131, 165, 196, 262, 330, 392, 523, 659, 784, 1047, 1319, 2093},
                                         {147, 175, 220, 294, 349, 440, 587, 698, 880, 1175, 1397, 2349},
                                         {123, 147, 196, 247, 294, 392, 494, 587, 784, 988, 1175, 1976},
                                         {110, 131, 165, 220, 262, 330, 440, 523, 659, 880, 1047, 1760}};
    unsigned phase[voices] = {0};
    if (count != 4)
        return 2;
    int rate = atoi(word[1]), bytes = atoi(word[2]), samples = rate * atoi(word[3]);

    fputs("RIFF", stdout);
    put(36u + (unsigned)(samples * 2 * bytes), 4);
    fputs("WAVEfmt ", stdout);
    put(16, 4);
    put(1, 2); /* linear */
    put(2, 2); /* channels */
    put((unsigned)rate, 4);
    put((unsigned)(rate * 2 * bytes), 4);
    put((unsigned)(2 * bytes), 2);
    put((unsigned)(8 * bytes), 2);
    fputs("data", stdout);
    put((unsigned)(samples * 2 * bytes), 4);

    for (int t = 0; t < samples; t++) {
        int left = noise(600), right = noise(600), pluck = 32768 - t % (rate / 4) * 32768 / (rate / 4);
        for (int v = 0; v < voices; v++) {
            phase[v] += (unsigned)(chord[t / rate % 4][v] * 65536 / rate);
            int value = wave(phase[v]) / voices * 2;
            left += v % 2 ? value : (int)((long long)value * pluck / 32768);
            right += v % 3 ? value : (int)((long long)value * pluck / 32768);
        }
        if (bytes == 3) {
            left = left * 256 + noise(256);
            right = right * 256 + noise(256);
        }
        put((unsigned)left, bytes);
        put((unsigned)right, bytes);
    }
}

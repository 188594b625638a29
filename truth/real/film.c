/* A film of 900 pictures of 352 x 288 (YUV 4:2:0, 8 bits), for programs that take one: a textured field that drifts,
 * discs that move before it, and some noise. Whole numbers alone, so that it is the same everywhere. */
#include <stdio.h>

enum { wide = 352, high = 288, pictures = 900, field = 1024, discs = 6 };

static unsigned char texture[field][field], row[wide];
static unsigned state = 20261123;

static int draw(unsigned n)
{
    state = state * 1664525u + 1013904223u;
    return state >> 16 & 0x7fff ? (int)((state >> 16) % n) : 0;
}

static int luma(int x, int y, int t)
{
    int value = texture[(y + t * 2) % field][(x + t * 3) % field];
    for (int disc = 0; disc < discs; disc++) {
        int dx = x - (40 + disc * 61 + t * (disc * 2 - 5)) % wide;
        int dy = y - (30 + disc * 37 + t * (7 - disc * 2)) % high;
        if (dx * dx + dy * dy < 900 + disc * 150)
            value = texture[(unsigned)(dy * 2 + 512) % field][(unsigned)(dx * 2 + 100 * disc) % field] ^ 0x30;
    }
    return value;
}

static int chroma(int x, int y, int t, int plane)
{
    int square = (x * 2 + t * 3) / 23 + (y * 2 + t * 2) / 17;
    return 128 + (plane ? 1 : -1) * (square % 2 * 20);
}

int main(void)
{
    for (int y = 0; y < field; y++)
        for (int x = 0; x < field; x++) {
            int square = x / 23 + y / 17;
            texture[y][x] = (unsigned char)(90 + (x * 7 / 16 + y / 5) % 41 + (square % 2 ? 35 : 0) + draw(9));
        }
    for (int t = 0; t < pictures; t++) {
        for (int y = 0; y < high; y++) {
            for (int x = 0; x < wide; x++)
                row[x] = (unsigned char)(luma(x, y, t) + draw(5));
            fwrite(row, 1, wide, stdout);
        }
        for (int plane = 0; plane < 2; plane++)
            for (int y = 0; y < high / 2; y++) {
                for (int x = 0; x < wide / 2; x++)
                    row[x] = (unsigned char)chroma(x, y, t, plane);
                fwrite(row, 1, wide / 2, stdout);
            }
    }
    return 0;
}

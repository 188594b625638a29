/* Batches of text: each batch is compressed, then enciphered, four batches one after the other. */
#include "truth_log.h"
#include <stdint.h>
#include <string.h>

enum { CHUNK = 1 << 16, CHUNKS = 32, HASHES = 1 << 12, CHAIN = 24, LONGEST = 64 };

static uint8_t text[CHUNKS][CHUNK], packed[CHUNKS][2 * CHUNK];
static size_t packed_size[CHUNKS];
static uint32_t seed = 2463534242u;

static uint32_t random_word(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    return seed ^= seed << 5;
}

static void write_text(void)
{
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        for (int i = 0; i < CHUNK; i++) {
            uint32_t r = random_word();
            text[chunk][i] =
                i > 300 && r % 8 ? text[chunk][i - 1 - (r >> 8) % 2 * 97] : (uint8_t)('a' + (r >> 16) % 26);
        }
}

/* LZ77: literals, and (length, distance) of earlier text, found through chains of equal hashes. */
KEPT static size_t compress_chunk(const uint8_t *in, uint8_t *out)
{
    static int head[HASHES], previous[CHUNK];
    memset(head, -1, sizeof head);
    size_t size = 0;
    for (int i = 0; i < CHUNK;) {
        int best = 0, distance = 0, links = 0;
        unsigned hash = i + 2 < CHUNK ? (in[i] * 2654435761u ^ in[i + 1] * 40503u ^ in[i + 2] * 97u) % HASHES : 0;
        for (int at = head[hash]; at >= 0 && links < CHAIN; at = previous[at], links++) {
            int length = 0;
            while (length < LONGEST && i + length < CHUNK && in[at + length] == in[i + length])
                length++;
            if (length > best) {
                best = length;
                distance = i - at;
            }
        }
        previous[i] = head[hash];
        head[hash] = i;
        if (best < 4) {
            out[size++] = in[i++];
            continue;
        }
        out[size++] = (uint8_t)(128 + best);
        out[size++] = (uint8_t)(distance >> 8);
        out[size++] = (uint8_t)distance;
        i += best;
    }
    return size;
}

static uint32_t rotated(uint32_t word, int bits)
{
    return word << bits | word >> (32 - bits);
}

static void quarter_round(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
    *a += *b, *d = rotated(*d ^ *a, 16);
    *c += *d, *b = rotated(*b ^ *c, 12);
    *a += *b, *d = rotated(*d ^ *a, 8);
    *c += *d, *b = rotated(*b ^ *c, 7);
}

/* ChaCha20: 64 bytes of key stream at a time. */
KEPT static void encipher_chunk(uint8_t *data, size_t size, uint32_t nonce)
{
    for (size_t at = 0; at < size; at += 64) {
        uint32_t state[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574,   1,    2, 3, 4, 5,
                              6,          7,          8,          (uint32_t)at, nonce};
        for (int i = 0; i < 10; i++) {
            for (int k = 0; k < 4; k++)
                quarter_round(&state[k], &state[4 + k], &state[8 + k], &state[12 + k]);
            for (int k = 0; k < 4; k++)
                quarter_round(&state[k], &state[4 + (k + 1) % 4], &state[8 + (k + 2) % 4], &state[12 + (k + 3) % 4]);
        }
        for (size_t i = 0; i < 64 && at + i < size; i++)
            data[at + i] ^= (uint8_t)(state[i / 4] >> 8 * (i % 4));
    }
}

int main(int argc, char **argv)
{
    int rounds = 1 + (int)(12 * scale_argument(argc, argv));
    uint32_t sum = 0;
    write_text();
    for (int batch = 0; batch < 4; batch++) {
        truth_phase("compress");
        for (int i = 0; i < rounds * CHUNKS; i++)
            packed_size[i % CHUNKS] = compress_chunk(text[i % CHUNKS], packed[i % CHUNKS]);
        truth_phase("encipher");
        for (int i = 0; i < 5 * rounds * CHUNKS; i++)
            encipher_chunk(packed[i % CHUNKS], packed_size[i % CHUNKS], (uint32_t)(batch + i));
        truth_end();
        for (size_t i = 0; i < packed_size[batch]; i++)
            sum = sum * 31 + packed[batch][i];
    }
    printf("cipher: %08x\n", sum);
    return 0;
}

/* Four phases, one after the other (about 10 s; the argument scales that, as in `phases 0.1`):
 *   generate  fill_keys     called again and again: random keys
 *   build     build_table   called again and again: a hash table of them, with collisions
 *   search    lookup_batch  called again and again: keys that are there, and keys that are not
 *   validate  validate      called once, a long loop: walks every bucket and recomputes the hashes
 * The result is the same on every run. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KEYS (1u << 16)
#define BUCKETS (1u << 14)
#define NOINLINE __attribute__((noinline)) /* a phase must not vanish into main */

static uint64_t keys[KEYS];
static uint32_t bucket_head[BUCKETS];
static uint32_t next_key[KEYS];

static uint64_t hash_key(uint64_t key)
{
    for (int round = 0; round < 4; round++)
        key = (key ^ (key >> 31)) * 0x9e3779b97f4a7c15u;
    return key ^ (key >> 29);
}

static NOINLINE uint64_t fill_keys(uint64_t seed)
{
    for (uint32_t i = 0; i < KEYS; i++) {
        for (int round = 0; round < 12; round++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
        }
        keys[i] = seed;
    }
    return seed;
}

static void insert_key(uint32_t i)
{
    uint32_t bucket = hash_key(keys[i]) % BUCKETS;
    uint32_t *link = &bucket_head[bucket];
    while (*link != 0)
        link = &next_key[*link - 1];
    *link = i + 1;
}

static NOINLINE void build_table(void)
{
    for (uint32_t b = 0; b < BUCKETS; b++)
        bucket_head[b] = 0;
    for (uint32_t i = 0; i < KEYS; i++)
        next_key[i] = 0;
    for (uint32_t i = 0; i < KEYS; i++)
        insert_key(i);
}

static int find_key(uint64_t key)
{
    uint32_t i = bucket_head[hash_key(key) % BUCKETS];
    while (i != 0 && keys[i - 1] != key)
        i = next_key[i - 1];
    return i != 0;
}

static NOINLINE uint64_t lookup_batch(uint32_t stride)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i < KEYS; i++)
        found += find_key(keys[i * stride % KEYS] + (i & 1));
    return found;
}

static uint64_t check_bucket(uint32_t bucket)
{
    uint64_t sum = 0;
    for (uint32_t i = bucket_head[bucket]; i != 0; i = next_key[i - 1])
        for (int again = 0; again < 8; again++)
            sum += hash_key(keys[i - 1] + again) % BUCKETS == bucket;
    return sum;
}

static NOINLINE uint64_t validate(int rounds)
{
    uint64_t sum = 0;
    for (int i = 0; i < rounds; i++)
        for (uint32_t b = 0; b < BUCKETS; b++)
            sum += check_bucket(b);
    return sum;
}

int main(int argc, char **argv)
{
    double scale = argc > 1 ? atof(argv[1]) : 1.0;
    uint64_t seed = 88172645463325252u, found = 0;
    for (int i = 0; i < (int)(1700 * scale); i++)
        seed = fill_keys(seed);
    for (int i = 0; i < (int)(1900 * scale); i++)
        build_table();
    for (int i = 0; i < (int)(1150 * scale); i++)
        found += lookup_batch(2 * i + 1);
    uint64_t checked = validate((int)(900 * scale));
    printf("found %llu, checked %llu\n", (unsigned long long)found, (unsigned long long)checked);
    return 0;
}

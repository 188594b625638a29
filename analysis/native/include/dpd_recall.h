/* What followed the same samples longer ago than the window reaches: a history, and tables of where in it the latest
 * pieces of some lengths ended last. */
#ifndef DPD_RECALL_H
#define DPD_RECALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECALL_ORDERS 8
#define RECALL_LONGEST 256 /* samples in the longest piece */
#define RECALL_TRUST 7

/* Arrays lie in the detector's memory. */
struct recall {
    uint32_t size; /* samples of history and places in each table: a power of two; 0: there is no recall */
    uint32_t shift;
    int64_t *history; /* the sample i at i modulo size */
    uint32_t *ended;  /* (orders, size): by hash of a piece, 1 + index of its last sample modulo 2^32; 0: none */
    uint64_t hash[RECALL_ORDERS];  /* of the latest pieces */
    uint64_t power[RECALL_ORDERS]; /* of the hashes' base, by length */
    uint32_t lag;                  /* of the earlier piece that the latest samples follow; 0: none */
    uint32_t trust;                /* 0 .. RECALL_TRUST: how often of late it was right where a loop was wrong */
};

void recall_reset(struct recall *recall);

/* The sample `index` comes. */
void recall_add(struct recall *recall, int64_t sample, uint64_t index);

/* How many samples before the latest one, `count` - 1, the longest of the pieces ended that is longer than `least` and
 * was there before; 0 if none was. */
uint32_t recall_lag(const struct recall *recall, int32_t least, uint64_t count);

/* The sample `index` comes, before recall_add; a loop expects `other`. Keeps the score of the two. */
void recall_judge(struct recall *recall, int64_t sample, int64_t other, uint64_t index);

/* How many samples before the latest one the piece ended that the latest samples follow, if it is to be preferred to
 * the loop; else 0. */
uint32_t recall_trusted(const struct recall *recall);

/* The sample `back` before the latest one (0: itself). */
static inline int64_t recall_sample(const struct recall *recall, uint64_t back, uint64_t count)
{
    return recall->history[(count - 1 - back) & (recall->size - 1)];
}

#endif

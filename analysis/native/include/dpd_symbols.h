/* Samples of 64 bits as symbols of 16, for as long as they are in the window: then the same symbol is the same sample.
 * A hash table with linear probing; what leaves the window leaves the table. */
#ifndef DPD_SYMBOLS_H
#define DPD_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/* Arrays lie in the detector's memory. */
struct symbols {
    int64_t *value;   /* by symbol */
    uint64_t *latest; /* by symbol: index of its latest sample */
    uint16_t *spare;  /* symbols that stand for nothing now */
    uint16_t *slot;   /* the table: symbols, 0 where free */
    uint32_t spares;  /* in spare */
    uint32_t mask;    /* slots - 1 */
    uint32_t shift;   /* 64 - log2(slots) */
    uint32_t room;    /* symbols 1 .. room */
};

uint32_t symbols_slots(uint32_t room);
void symbols_reset(struct symbols *symbols);

/* The symbol of a sample, made if there is none. There must be room: it is the caller's window that has it. */
uint16_t symbols_take(struct symbols *symbols, int64_t sample, uint64_t index);

/* The sample `index` leaves: its symbol goes if no later sample has it. */
void symbols_leave(struct symbols *symbols, uint16_t symbol, uint64_t index);

#endif

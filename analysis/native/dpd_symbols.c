#include "dpd_internal.h"

#include <string.h>

uint32_t symbols_slots(uint32_t room)
{
    uint32_t slots = 64;
    while (slots < 2 * room)
        slots *= 2;
    return slots;
}

void symbols_reset(struct symbols *symbols)
{
    uint32_t slots = symbols_slots(symbols->room);
    symbols->mask = slots - 1;
    symbols->shift = 64 - (uint32_t)__builtin_ctz(slots);
    memset(symbols->slot, 0, slots * sizeof *symbols->slot);
    symbols->spares = symbols->room;
    for (uint32_t i = 0; i < symbols->room; i++)
        symbols->spare[i] = (uint16_t)(symbols->room - i);
}

/* Return the home slot. Fibonacci hashing, because addresses differ in their middle bits. */
static uint32_t home(const struct symbols *symbols, int64_t sample)
{
    return (uint32_t)(((uint64_t)sample * 0x9E3779B97F4A7C15u) >> symbols->shift);
}

uint16_t symbols_take(struct symbols *symbols, int64_t sample, uint64_t index)
{
    uint32_t at = home(symbols, sample);
    uint16_t symbol;
    while ((symbol = symbols->slot[at]) != 0) {
        if (symbols->value[symbol] == sample) {
            symbols->latest[symbol] = index;
            return symbol;
        }
        at = (at + 1) & symbols->mask;
    }
    symbol = symbols->spare[--symbols->spares];
    symbols->slot[at] = symbol;
    symbols->value[symbol] = sample;
    symbols->latest[symbol] = index;
    return symbol;
}

/* Close the gap: move up every later entry of the cluster unless that would put it before its home. */
static void remove_slot(struct symbols *symbols, uint32_t gap)
{
    uint32_t at = gap;
    for (;;) {
        at = (at + 1) & symbols->mask;
        uint16_t symbol = symbols->slot[at];
        if (symbol == 0)
            break;
        uint32_t from = home(symbols, symbols->value[symbol]);
        if (((at - from) & symbols->mask) >= ((at - gap) & symbols->mask)) {
            symbols->slot[gap] = symbol;
            gap = at;
        }
    }
    symbols->slot[gap] = 0;
}

void symbols_leave(struct symbols *symbols, uint16_t symbol, uint64_t index)
{
    if (symbol == 0 || symbols->latest[symbol] != index)
        return;
    uint32_t at = home(symbols, symbols->value[symbol]);
    while (symbols->slot[at] != symbol)
        at = (at + 1) & symbols->mask;
    remove_slot(symbols, at);
    symbols->spare[symbols->spares++] = symbol;
}

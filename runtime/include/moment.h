/* A moment by two clocks: CLOCK_MONOTONIC and the processor's counter. Async-signal-safe and thread-safe. */
#ifndef RUNTIME_MOMENT_H
#define RUNTIME_MOMENT_H

#include <stdint.h>

#include "sys.h"

#define MOMENT_ATTEMPTS 5

struct moment {
    uint64_t ns, ticks;
};

/* The pair that was read in the shortest time: nothing came between its two halves. */
static inline struct moment moment_now(uint64_t (*counter)(void))
{
    struct moment best = {0, 0};
    uint64_t shortest = UINT64_MAX;
    for (int attempt = 0; attempt < MOMENT_ATTEMPTS; attempt++) {
        uint64_t before = counter();
        uint64_t ns = monotonic_ns();
        uint64_t after = counter();
        if (after - before >= shortest)
            continue;
        shortest = after - before;
        best = (struct moment){ns, before + shortest / 2};
    }
    return best;
}

#endif

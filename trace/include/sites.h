/* Call sites: addresses in the program's code, numbered by the thread that meets them, in the order in which it does;
 * 0 is one that is not known. What they are is asked of the loader once each. For one thread; not async-signal-safe. */
#ifndef TRACE_SITES_H
#define TRACE_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"

#define MOST_SITES 16384u
#define SITE_SLOTS (2 * MOST_SITES)
#define MOST_MODULES 512u

struct sites {
    uint64_t *addresses; /* [SITE_SLOTS] */
    uint32_t *numbers;
    uint64_t *bases; /* [MOST_MODULES]: of the modules that are written already */
    uint32_t count, modules;
};

bool sites_start(struct sites *sites);

/* The number of an address. What a reader has to know of it is appended to `words`, the first time. */
uint32_t sites_number(struct sites *sites, uint64_t address, struct buffer *words);

#endif

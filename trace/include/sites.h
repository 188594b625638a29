/* Call sites: places in the program's objects, numbered by the thread that meets them, in the order in which it does; 0
 * is one that is not known. What lies at an address is asked of the loader once each, and anew when a library has gone:
 * another one may lie there then, and one that comes back elsewhere is the same. For one thread; not
 * async-signal-safe. */
#ifndef TRACE_SITES_H
#define TRACE_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"

#define MOST_SITES 16384u
#define SITE_SLOTS (2 * MOST_SITES)
#define MOST_MODULES 512u

/* Numbers of keys but 0, by open addressing. */
struct site_table {
    uint64_t *keys; /* [SITE_SLOTS] */
    uint32_t *numbers;
};

struct sites {
    struct site_table addresses, places;
    uint64_t *modules; /* [MOST_MODULES]: hashes of path and build-id of those that are written already */
    uint32_t count, module_count;
    uint32_t unloads; /* the addresses are of that time */
};

bool sites_start(struct sites *sites);

/* The number of an address. What a reader has to know of it is appended to `words`, the first time. */
uint32_t sites_number(struct sites *sites, uint64_t address, struct buffer *words);

#endif

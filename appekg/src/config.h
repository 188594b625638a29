/* What the environment, then the program's options, ask for (docs/appekg.md lists them). */
#ifndef EKG_CONFIG_H
#define EKG_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "appekg.h"

struct config {
    char directory[PATH_MAX]; /* or empty for the default name */
    char sinks[256];          /* names, with commas */
    uint64_t interval_ns;
    uint32_t factor;   /* of ids without one of their own */
    uint64_t overhead; /* EKG_OVERHEAD, in billionths of a percent: what a beat may cost; 0 as much as it does */
    bool start_off;
    bool monotonic; /* EKG_CLOCK=monotonic: no counter */
    bool disabled;
};

/* Reads both, when it is known how much may be said. A bad value costs one line that names it, and its default is used.
 * `options` may be NULL. Not thread-safe (getenv). */
void config_read(struct config *config, const struct ekg_options *options);

#endif

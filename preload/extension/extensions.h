/* The collector's side of the interface to libraries preloaded beside this one (runtime/include/extension.h).
 * Collector, under its lock, except where stated. Async-signal-safe. */
#ifndef INCPROF_EXTENSIONS_H
#define INCPROF_EXTENSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "extension.h"
#include "interval.h"
#include "ring.h"

/* Return whether there are any. */
bool extensions_exist(void);

/* Begin a recording; `wanted`: with a stream, which can have images. By the process's only thread. */
void extensions_begin(bool forked, bool wanted);

/* Return whether the recording has images of a kind. */
bool extensions_have_put(uint32_t kind);

/* Give an event from a thread's ring, with the node of its path, to its extension. */
void extensions_take(const struct sample *event, uint32_t node);

/* Append the extensions' images of the interval. */
void extensions_put(struct interval *interval, uint64_t run_start_ns, uint64_t end_ns, bool is_last);

#endif

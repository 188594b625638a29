/* What this process has mapped, as text. Interval thread; async-signal-safe, and thread-safe. */
#ifndef INCPROF_OWN_MAPS_H
#define INCPROF_OWN_MAPS_H

#include <stdbool.h>

#include "buffer.h"
#include "maps_line.h"

/* /proc/self/maps, ended by a NUL. The buffer is the caller's to free. */
bool own_maps_read(struct buffer *text);

/* Whether a mapping of this process is of this library's code. */
bool own_maps_hold_profiler(const struct mapping *mapping);

#endif

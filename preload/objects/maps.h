/* Lines of /proc/PID/maps. Async-signal-safe and thread-safe. */
#ifndef INCPROF_MAPS_H
#define INCPROF_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "modules.h"

/* An executable mapping. path: JIT_PATH if it has no file. */
struct mapping {
    uint64_t start, end, offset, inode;
    char path[sizeof((struct module *)0)->path];
};

/* Parse a line; return its length, including the newline. `mapping` is filled in if `is_code`. */
size_t maps_line_read(const char *line, struct mapping *mapping, bool *is_code);

/* The mappings of this process, as text. Interval thread; async-signal-safe, and thread-safe. */

/* Read /proc/self/maps, NUL-terminated. The caller frees the buffer. */
bool own_maps_read(struct buffer *text);

/* Return whether the mapping, in this process, is code of this library, or of one preloaded beside it that has given an
 * address (extension.h). */
bool own_maps_hold_profiler(const struct mapping *mapping);
void own_maps_add_profiler(uint64_t address);

#endif

/* Lines of /proc/PID/maps. Async-signal-safe and thread-safe. */
#ifndef INCPROF_MAPS_LINE_H
#define INCPROF_MAPS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "modules.h"

/* A line of what is mapped executable. path: JIT_PATH where there is no file. */
struct mapping {
    uint64_t start, end, offset, inode;
    char path[sizeof((struct module *)0)->path];
};

/* The line's length, with its end. `mapping` is true of it if `is_code`. */
size_t maps_line_read(const char *line, struct mapping *mapping, bool *is_code);

#endif

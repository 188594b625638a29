/* Calls that are recorded with their call path. */
#ifndef INCPROF_IO_PATHS_H
#define INCPROF_IO_PATHS_H

#include <stdint.h>

/* About one call in this time is recorded, for each thread. */
#define PATH_NS 5000000u

struct path_event {
    uint32_t file, operation;
    uint64_t calls_milli; /* a thousandth of a call: it stands for so many */
    uint64_t bytes, ns;   /* of this one */
};

/* Use this number of an extension (extension.h); negative: none. */
void paths_begin(int own);

/* Record a call of the calling thread with its path. Keeps errno. Does nothing if there is no collector. */
void path_record(const struct path_event *event);

#endif

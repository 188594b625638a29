/* Names of code that a program makes as it runs: they are taken from wherever it tells them, as they come, into a file
 * in the run directory. Code is moved and thrown away, and the program may remove its own file. Interval thread;
 * async-signal-safe. */
#ifndef INCPROF_JIT_NAMES_H
#define INCPROF_JIT_NAMES_H

#include "jit_file.h"
#include "jit_lines.h"
#include "jit_objects.h"

#define JIT_NAMES_FILE 32

/* What has been taken from a process. */
struct jit_names {
    struct jit_process process;
    struct jit_file map, dump;
    struct jit_objects objects;
    struct jit_lines lines;
    uint64_t looked_ns; /* when it was looked at last, or 0 */
};

/* For programs of one thread that look at other processes: all that follows is about this one from here on. NULL: about
 * the calling process, as it is from the start. */
void jit_names_use(struct jit_names *of);

/* perf-PID.map, of the process: the name of the file in symbols/. */
void jit_names_file(char name[JIT_NAMES_FILE]);

/* Takes the names that have come into the run directory. is_end: no more will come. */
void jit_names_keep(const char *directory, bool is_end);

#endif

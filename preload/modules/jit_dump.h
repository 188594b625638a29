/* The same, in perf's binary form (jit-PID.dump): functions with the time from which on they are there, and those that
 * are moved. A program maps the file's head as if it were code, by which it is found. Interval thread;
 * async-signal-safe. */
#ifndef INCPROF_JIT_DUMP_H
#define INCPROF_JIT_DUMP_H

#include "jit_file.h"
#include "jit_lines.h"

/* Takes the functions that have come. since_ns: when they were looked for before, for those without a time. */
void jit_dump_read(struct jit_file *file, const struct jit_process *process, const char *path, struct jit_lines *lines,
                   uint64_t since_ns);

#endif

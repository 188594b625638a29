/* What a program tells perf of the code that it makes as it runs: /tmp/perf-PID.map, lines of START SIZE NAME. Interval
 * thread; async-signal-safe. */
#ifndef INCPROF_JIT_MAP_H
#define INCPROF_JIT_MAP_H

#include "jit_file.h"
#include "jit_lines.h"

/* Takes the lines that have come. is_end: also one that has no end yet. */
void jit_map_read(struct jit_file *file, const struct jit_process *process, struct jit_lines *lines, bool is_end);

#endif

/* Names of code that a program makes as it runs: what it tells perf of, in /tmp/perf-PID.map. Interval thread;
 * async-signal-safe. */
#ifndef INCPROF_JIT_MAP_H
#define INCPROF_JIT_MAP_H

#include <stdbool.h>
#include <stddef.h>

#define JIT_MAP_NAME 32

/* perf-PID.map, of this process. */
void jit_map_name(char name[JIT_MAP_NAME]);

/* Whether there is one of this user's. */
bool jit_map_is_there(void);

/* Copies it into the run directory: the program may remove it, or the machine may. */
void jit_map_keep(const char *directory);

#endif

/* Names of code that a program makes as it runs: what it tells perf of, in /tmp/perf-PID.map. Interval thread;
 * async-signal-safe. */
#ifndef INCPROF_JIT_MAP_H
#define INCPROF_JIT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define JIT_MAP_NAME 32

/* A process as it sees itself: its number there, and whose it is. */
struct jit_map_process {
    pid_t pid, inner;
    uid_t owner;
};

/* For programs of one thread that look at other processes: all that follows is about this one from here on. NULL: about
 * the calling process, as it is from the start. */
void jit_map_use(const struct jit_map_process *of);

/* perf-PID.map, of the process. */
void jit_map_name(char name[JIT_MAP_NAME]);

/* Whether there is one of its user's. */
bool jit_map_is_there(void);

/* Copies it into the run directory: the program may remove it, or the machine may. */
void jit_map_keep(const char *directory);

#endif

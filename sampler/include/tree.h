/* A process and its descendants, as /proc tells of them. One thread at a time; not async-signal-safe. */
#ifndef SAMPLER_TREE_H
#define SAMPLER_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "events.h"

/* What is wanted of each process. */
#define TREE_WANTS(field) (1u << (field))

/* Begins with one process. Negative errno of its first file that cannot be read, of the field that is wanted. */
int tree_start(pid_t root);
int tree_probe(enum field field);

/* Chooses the fields that tree_read gives. */
void tree_want(uint32_t fields);

/* Looks for processes and threads that are new or have ended. Descriptors are opened here; no allocation. */
void tree_scan(void);

/* What the threads do, in values[ACTIVE_CPUS] and values[RUNNING_THREADS]. No allocation. */
void tree_look(double *values);

/* Sums over the processes that live, in values[FIELDS] up to ACTIVE_CPUS, and no further. False once the first
 * process cannot be read any more, and then values are as they were. No allocation. */
bool tree_read(double *values);

/* Whether there were more processes or threads than can be followed, or than there were descriptors for. */
bool tree_is_full(void);

/* Which file of /proc/PID a field comes from. Thread-safe. */
const char *tree_file(enum field field);

#endif

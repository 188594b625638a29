/* The loops around the program's parallel regions: the begin and duration of their iterations. For the watched
 * thread. */
#ifndef SELFANALYZE_LOOPS_H
#define SELFANALYZE_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "functions.h"
#include "regions.h"

/* Allocate a detector of periods below `window`. False if out of memory. Before all other functions. */
bool loops_start(int window);

/* Handle the begin of a parallel region, with the requested number of threads (0: as many as usual); and its end. */
void loops_enter(const struct function *function, int threads, const void *caller);
void loops_leave(void);

/* Separate later calls from earlier ones. */
void loops_break(void);

/* Return an address in the code that last called the run-time, which may have been unloaded, or NULL. */
const void *loops_caller(void);

/* Return the number of parallel regions so far. Any thread. */
uint64_t loops_calls(void);

/* Count an outermost parallel region of another thread; return their number so far. Any thread. */
void loops_count_other(void);
uint64_t loops_other_calls(void);

/* In a forked child: forget everything. */
void loops_forget(void);

/* Loops marked in the program's source, see selfanalyze.h. For the watched thread. */

/* Begin a loop, begin an iteration of it, end it. `hash` and `period` identify it; `caller` as for baseline_boundary.
 * Not within a change of the regions. */
void explicit_begin(const char *name, uint64_t hash, uint32_t period, long expected);
void explicit_iteration(const char *name, uint64_t hash, uint32_t period, const void *caller);
void explicit_end(uint64_t hash, uint32_t period);

/* Return the number of open loops. */
int explicit_count(void);

/* Record the number of threads that a parallel region requests; and its end. Both within a change of the regions, like
 * explicit_break. */
void explicit_threads(int threads);
void explicit_call(uint64_t start_ns, uint64_t end_ns);

/* End all of them. */
void explicit_break(void);

/* In a forked child: forget all. */
void explicit_forget(void);

#endif

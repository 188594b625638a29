/* The loops around the program's parallel regions: where their iterations begin, and how long they take. For the
 * watched thread. */
#ifndef SELFANALYZE_LOOPS_H
#define SELFANALYZE_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "functions.h"
#include "regions.h"

/* Memory for a detector of periods below `window`. False if there is none. Before all others. */
bool loops_start(int window);

/* A parallel region begins, for which the program wants so many threads (0: as many as usual); it ends. */
void loops_enter(const struct function *function, int threads, const void *caller);
void loops_leave(void);

/* What comes next has nothing to do with what was before. */
void loops_break(void);

/* An address in the code that called the run-time last, which may be gone, or NULL. */
const void *loops_caller(void);

/* Parallel regions so far. Any thread. */
uint64_t loops_calls(void);

/* A parallel region of another thread that is not within one; those so far. Any thread. */
void loops_count_other(void);
uint64_t loops_other_calls(void);

/* In a forked child: nothing has been seen. */
void loops_forget(void);

#endif

/* Loops that the program's source marks, see selfanalyze.h. For the watched thread. */
#ifndef SELFANALYZE_EXPLICIT_LOOPS_H
#define SELFANALYZE_EXPLICIT_LOOPS_H

#include <stdint.h>

/* A loop begins, an iteration of it does, it ends. `hash` and `period` say which; `caller` as for baseline_boundary.
 * Within no change of the regions. */
void explicit_begin(const char *name, uint64_t hash, uint32_t period, long expected);
void explicit_iteration(const char *name, uint64_t hash, uint32_t period, const void *caller);
void explicit_end(uint64_t hash, uint32_t period);

/* Loops that the program is in. */
int explicit_count(void);

/* A parallel region asks for so many threads; it has ended. Both within a change of the regions, as explicit_break. */
void explicit_threads(int threads);
void explicit_call(uint64_t start_ns, uint64_t end_ns);

/* All of them have ended. */
void explicit_break(void);

/* In a forked child: there are none. */
void explicit_forget(void);

#endif

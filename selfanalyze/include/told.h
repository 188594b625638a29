/* Loops that the program's source tells of, see selfanalyze.h. For the watched thread. */
#ifndef SELFANALYZE_TOLD_H
#define SELFANALYZE_TOLD_H

#include <stdint.h>

/* A loop begins, an iteration of it does, it ends. `hash` and `period` say which. Within no change of the regions. */
void told_begin(const char *name, uint64_t hash, uint32_t period, long expected);
void told_iteration(const char *name, uint64_t hash, uint32_t period);
void told_end(uint64_t hash, uint32_t period);

/* Loops that the program is in. */
int told_count(void);

/* A parallel region asks for so many threads; it has ended. Both within a change of the regions, as told_break. */
void told_threads(int threads);
void told_call(uint64_t start_ns, uint64_t end_ns);

/* All of them have ended. */
void told_break(void);

/* In a forked child: there are none. */
void told_forget(void);

#endif

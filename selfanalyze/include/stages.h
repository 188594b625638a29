/* Loops within loops. A stage is a stream of tokens with a detector for it: that of the calls, then the same stream
 * with each innermost loop folded into one token, and so on. So a loop around another one is found whose iterations are
 * not alike because the inner one goes round as often as it has to. For the watched thread. */
#ifndef SELFANALYZE_STAGES_H
#define SELFANALYZE_STAGES_H

#include <stdbool.h>
#include <stdint.h>

/* A parallel region that begins. `call` counts them from 0; parallel_ns: spent in those before. */
struct call {
    uint64_t call, start_ns, parallel_ns;
    uint32_t epoch, epoch_before; /* of itself and of the one before, see baseline.h */
    uint16_t function;
};

/* Memory for detectors of periods below `window` tokens. False if there is none. Before all others. */
bool stages_start(int window);

/* A call begins: follows all loops, and opens and closes visits to them. `caller` as in loops_enter. Within a change of
 * the regions. */
void stages_begin(const struct call *call, const void *caller);

/* The latest call belongs to this epoch, and its regions ask for so many threads. Within a change. */
void stages_note(uint32_t epoch, int threads);

/* The latest call has ended. Within a change. */
void stages_end(uint64_t start_ns, uint64_t end_ns);

/* What comes next has nothing to do with what was before. Within a change. */
void stages_break(void);

/* In a forked child: nothing has been seen. */
void stages_forget(void);

#endif

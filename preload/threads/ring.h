/* Ring of samples from a thread's signal handler to the interval thread: one writer, one reader, no lock. */
#ifndef INCPROF_RING_H
#define INCPROF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "extension.h"
#include "thread.h"

/* docs/reference/formats.md, kind 7 */
enum sample_kind {
    KIND_OWN,
    KIND_LIBRARY,
    KIND_PROFILER,
    KIND_UNKNOWN,
    KIND_CODE,
    KIND_EVENT /* in a ring: no samples */
};

/* A sample in a thread's ring: four words and the frames. */
enum { SAMPLE_WORDS = 4 };
enum { SAMPLE_ELIDED = 1, SAMPLE_BROKEN = 2 };

struct sample {
    uint64_t time_ns;
    uint64_t leaf_pc;
    uint32_t thread; /* its number, because the record may belong to another thread by now */
    uint32_t weight; /* in ticks; 0 in a dense sampling window (sampler.h). Of an event: the extension's number */
    uint16_t frame_count;
    uint8_t kind; /* enum sample_kind */
    uint8_t flags;
    uint64_t frames[INNER_FRAMES + OUTER_FRAMES]; /* look-up addresses in this process, innermost first */
    uint64_t words[EXTENSION_WORDS];              /* of an event */
};

/* Put a sample with the frames of thread->path into the thread's ring; if the ring is full, count it as lost. By the
 * thread itself, async-signal-safe. */
void ring_put(struct thread *thread, const struct sample *sample);

/* Put an event of an extension there, with the frames of thread->path; false if the ring is full. By the thread itself,
 * with signals blocked. */
bool ring_put_event(struct thread *thread, uint32_t extension, uint64_t time_ns, uint8_t flags,
                    const uint64_t words[EXTENSION_WORDS]);

/* python_record (python.h) puts a record of a code object into the ring, of at most as many words as a sample has
 * frames; false if the ring is full. */

/* Take the oldest sample out of the ring. False if it is empty. An invalid sample (thread.h gives the cause) is
 * discarded with all behind it, and counted in `lost`. Collector. */
bool ring_take(struct thread *thread, struct sample *sample, uint64_t *lost);

#endif

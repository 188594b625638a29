/* Where each thread's CPU time goes: one timer per thread, one sample per expiry.
 *
 * The signal is SIGURG: nobody is killed by it when a program resets its handlers, and it leaves SIGPROF to the
 * application. An application that wants SIGURG for itself gets its own (hooks.c passes them on).
 */
#ifndef INCPROF_SAMPLER_H
#define INCPROF_SAMPLER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "thread.h"

#define SAMPLER_SIGNAL SIGURG

/* docs/formats.md, kind 7 */
enum sample_kind { KIND_OWN, KIND_LIBRARY, KIND_PROFILER, KIND_UNKNOWN };

/* A sample in a thread's ring: three words and the frames. */
enum { SAMPLE_WORDS = 3 };
enum { SAMPLE_ELIDED = 1, SAMPLE_BROKEN = 2 };

struct sample {
    uint64_t time_ns;
    uint64_t leaf_pc;
    uint32_t weight; /* in ticks */
    uint16_t frame_count;
    uint8_t kind; /* enum sample_kind */
    uint8_t flags;
    uint64_t frames[INNER_FRAMES + OUTER_FRAMES]; /* look-up addresses in this process, innermost first */
};

/* Takes perf's clock where nobody asked for a clock and CPU timers do not go as fast as the rate. One line on stderr
 * where perf's is not to be had. Once, before sampler_start. */
void sampler_choose_clock(struct config *config);

/* Installs the signal handler. False after one line on stderr. Once, before the first thread starts. */
bool sampler_start(const struct config *config);

/* Async-signal-safe; called by the thread itself. The first also touches no vector register. */
void sampler_start_thread(struct thread *thread);
void sampler_end_thread(struct thread *thread);

/* Gives back the timer of a thread that is gone, or is to be sampled no more. A perf event is a descriptor, which only
 * the thread itself can close: it does so at its next signal. Async-signal-safe. */
void sampler_forget_thread(struct thread *thread);

/* One line on stderr, once, if some thread could not be sampled as asked. Collector. */
void sampler_report_trouble(void);

/* Takes the oldest sample out of the ring. False when it is empty. Collector. */
bool sampler_take(struct thread *thread, struct sample *sample);

/* The application's own action for our signal. Not thread-safe against itself, like sigaction. */
void sampler_exchange_action(const struct sigaction *action, struct sigaction *old);

#endif

/* When to take samples of waiting threads, within a budget of one processor that is enforced on what they have cost:
 * 0.3 % with the usual budget of the recording, 2 %, and in proportion with another. One caller at a time, always the
 * same thread; async-signal-safe. */
#ifndef INCPROF_WAIT_SCHEDULE_H
#define INCPROF_WAIT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "blocked_thread.h"

/* The threads to sample. Each item is one. */
struct wait_source {
    void *(*first)(void);      /* NULL: there is none */
    void *(*next)(void *item); /* NULL: it was the last one */
    /* Find the thread of an item, and select its process; false: there is none now, or it is not recorded. `waits` and
     * `process` are set anyway. */
    bool (*find)(void *item, struct blocked_thread *thread);
};

/* Begin, in a new process or forked child. `per_second`: rounds, as long as none is thinned out; 0: never.
 * `recording_budget`: of all of the recording, in billionths of a percent. */
void wait_schedule_begin(uint64_t per_second, uint64_t recording_budget);

/* Return whether there are any. */
bool wait_schedule_exist(void);

/* Return when the next round is due, on CLOCK_MONOTONIC. */
uint64_t wait_schedule_due_ns(void);

/* Postpone the next round: no thread can be sampled at `now_ns`. */
void wait_schedule_postpone(uint64_t now_ns);

struct wait_round {
    bool has_sampled;  /* there was a budget */
    uint64_t left_out; /* number of samples that there was none for */
    uint64_t used_ns;  /* CPU time */
};

/* Take a round, which is due at `now_ns`: samples of all threads, or of as many as the budget allows, from the one on
 * at which the last round ended. `thinning`: samples that would be taken for one that may be, in parts of ACCOUNT_ALL.
 * `is_alone`: nothing else was due when the caller woke up, so that all of its cost was for the samples. */
struct wait_round wait_schedule_take(const struct wait_source *source, uint64_t now_ns, uint64_t thinning,
                                     bool is_alone);

/* Begin the next round with the first thread, because the item is no longer there. */
void wait_schedule_skip(const void *item);

/* Return the calling thread's CPU time. */
uint64_t wait_schedule_clock_ns(void);

/* Take what has been used since `start_ns` of that clock from the budget; return it. */
uint64_t wait_schedule_pay(uint64_t start_ns);

/* The caller goes back to sleep: what it uses until the next round is the cost of waking up for that. */
void wait_schedule_sleep(void);

/* Forget when it went to sleep, and which files are open: another thread, with another descriptor table, takes the next
 * round. */
void wait_schedule_park(void);

#endif

/* Samples of blocked threads as spans of their time, and the image of an interval's spans (docs/reference/formats.md,
 * kind 9).
 *
 * No thread is signalled or stopped, and no call of the application returns early: /proc shows what a thread is blocked
 * in, and its stack is copied. Each sample accounts for the thread's time since the one before it: on a processor,
 * waiting for one, or off the processors. If the thread has not run since, the whole time is one wait, which needs no
 * stack again.
 *
 * One caller at a time; async-signal-safe. */
#ifndef INCPROF_WAIT_SPANS_H
#define INCPROF_WAIT_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "blocked_thread.h"
#include "buffer.h"
#include "interval.h"
#include "table.h"

/* The spans of a process's open interval. */
struct wait_spans {
    struct table sites; /* struct wait_site */
    struct buffer spans;
    uint64_t previous_us;                   /* the beginning of the last span written */
    uint64_t sampled, thinned, consumed_ns; /* samples taken and left out; their CPU time */
    uint64_t delayed_ns;                    /* of the first thread */
    bool is_refused;
};

/* Begin, in a new process or forked child. */
void wait_spans_begin(struct wait_spans *spans);

/* A round of samples of all threads begins or ends; the next round is the first one. */
void wait_spans_begin_round(uint64_t now_ns);
void wait_spans_end_round(void);
void wait_spans_forget_rounds(void);

/* What a sample has shown. */
enum wait_activity {
    ACTIVITY_NONE,
    ACTIVITY_WAITS, /* a wait has begun or ended, which was not negligible */
    ACTIVITY_SHORT  /* the thread waits for short times */
};

/* Take a sample of a thread. `deep`: describe what it waits for. */
enum wait_activity wait_spans_sample(const struct blocked_thread *thread, bool deep);

/* Return whether a thread has long been in one wait, so that a sample would be of no use yet. */
bool wait_spans_are_settled(const struct thread_waits *waits, uint64_t number, uint64_t now_ns);

/* Write the open span of a thread to the interval's, and close it. */
void wait_spans_close(struct wait_spans *spans, const struct interval *interval, struct thread_waits *waits);

/* Write the rest of a thread that has ended. */
void wait_spans_finish(struct wait_spans *spans, const struct interval *interval, struct thread_waits *waits);

/* The thread's time from before this moment on is not the program's: the process was stopped, or the recording
 * paused. */
void wait_spans_exclude(struct thread_waits *waits);

/* Append the image of the interval to its images. */
void wait_spans_put(struct wait_spans *spans, struct interval *interval);

/* Release all memory. */
void wait_spans_free(struct wait_spans *spans);

#endif

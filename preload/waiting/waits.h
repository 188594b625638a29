/* What threads wait for: samples of blocked threads, taken from outside them at random moments.
 *
 * The interval thread takes them (wait_schedule.h), and the collector writes them as an image of the interval
 * (wait_spans.h).
 *
 * For the holder of the collector's lock; only the interval thread takes samples, with its own descriptor table.
 */
#ifndef INCPROF_WAITS_H
#define INCPROF_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "interval.h"

/* Begin, in a new process or forked child. */
void waits_begin(const struct config *config);

/* Return when samples are due, on CLOCK_MONOTONIC. */
uint64_t waits_due_ns(void);

/* Take samples of all threads, or of as many as the budget allows, if they are due. For the interval thread, at the end
 * of each of its rounds. `is_alone`: nothing else was due in this round, so that all of its cost is that of the
 * samples.
 */
void waits_sample(struct interval *interval, bool is_alone);

/* Account for all threads up to now, at the end of the recording. */
void waits_finish(struct interval *interval);

/* Return how long the first thread was ready to run without a processor in the open interval, as far as samples show
 * it. */
uint64_t waits_delayed_ns(void);

/* Append the image of the open interval to its images. */
void waits_put(struct interval *interval);

/* The time from before this moment on is not the program's: the process was stopped, or the recording paused. */
void waits_exclude(void);

/* Forget the files that are open: the interval thread ends, and another one has another descriptor table. */
void waits_park(void);

#endif

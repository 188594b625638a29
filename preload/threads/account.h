/* The account of the CPU time that the recording takes from the process, and the budget for it: a share of the
 * program's CPU time (2 % unless INCPROF_OVERHEAD is set), over the whole run.
 *
 * Every part of the recording that can take fewer samples charges what each has cost. What they may cost together is
 * the budget less what the rest costs (the start, the signals, the interval thread, the wrappers). It is divided so
 * that no part may cost more than a common level (ticks three times as much), and parts below it are not thinned: a
 * part that costs nothing loses nothing.
 *
 * Async-signal-safe and thread-safe, except account_begin.
 */
#ifndef INCPROF_ACCOUNT_H
#define INCPROF_ACCOUNT_H

#include <stdint.h>

#include "config.h"
#include "extension.h"

/* The parts that can take fewer samples: ticks, samples of waits (which the interval thread takes), and the events of
 * each extension. */
enum account_part { ACCOUNT_TICKS, ACCOUNT_WAITS, ACCOUNT_EVENTS, ACCOUNT_PARTS = ACCOUNT_EVENTS + MOST_EXTENSIONS };

/* The unit of account_thinning: every sample is taken. */
#define ACCOUNT_ALL EXTENSION_ALL_EVENTS

/* Begin, in a new process or forked child. */
void account_begin(const struct config *config);

/* Charge a part with CPU time. */
void account_charge(enum account_part part, uint64_t ns);

/* Return how many samples a part would take for one that it may take, in sixteenths. */
uint32_t account_thinning(enum account_part part);

/* Set the CPU time in wrappers so far, which can be less than before: it is estimated. Interval thread. */
void account_set_wrappers(uint64_t ns);

/* Set the CPU time of the interval thread and the writer so far. Interval thread: to read its clock takes another
 * thread several times as long. */
void account_set_worker(uint64_t ns);

/* Charge what no part can save: the kernel's work for signals. */
void account_charge_rest(uint64_t ns);

/* Charge the start of the recording. Its cost is spread over ten seconds of the run: the first phases of a program are
 * not to have fewer samples for it. */
void account_charge_start(uint64_t ns);

/* Divide the budget anew, if that is due. Called by account_charge, too. */
void account_update(void);

#endif

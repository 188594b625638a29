/* Thinning of beats that cost more than their share: their rate factor is raised at run time.
 *
 * There is an account per thread and id. It is credited with EKG_OVERHEAD percent of the elapsed time, up to one
 * second's worth, and debited with the cost of beats on this machine (cost_measured). When it is empty, the factor is
 * set to the value that the last beats would have needed. The time is that of the beats' own stamps, and is checked
 * once per THINNING_TURNS recorded turns. A turn is an outermost beat or pulse, the unit that rate factors skip.
 *
 * Integers only, because a program may trap inexact floating-point operations. */
#ifndef EKG_THINNING_H
#define EKG_THINNING_H

#include <stdbool.h>
#include <stdint.h>

#include "record.h"

#define THINNING_TURNS 256u

/* Set the share of its thread's time that a beat may cost, in billionths of a percent; 0: unlimited. Before the
 * interval thread exists. */
void thinning_start(uint64_t nano_percent);

/* Update the cost of beats, once it is measured or the clock has changed. For the interval thread. */
void thinning_price(void);

/* After a recorded turn, for the owner inside its slot: set the number of turns to skip next, and count the skipped
 * ones. Called if the slot skips, and otherwise once per THINNING_TURNS turns. `now`: end of the turn, or 0 if no clock
 * was read. Async-signal-safe. */
void thinning_turn(struct record *record, struct slot *slot, uint32_t mode, uint64_t now);

/* Lower the factor if it was higher than the last interval needed: `turns`, including skipped ones, in `elapsed` ticks.
 * For the interval thread; takes slots_lock. */
void thinning_relax(struct record *record, struct slot *slot, uint64_t turns, uint64_t elapsed);

/* The cost of a heartbeat on this machine, measured by executing some. */

/* Costs in picoseconds: of a begin and an end that are recorded, and of ones that are skipped. 0 if not measured. */
struct cost {
    uint64_t pair_ps, skipped_ps;
    double ticks_per_ns; /* of the processor's counter, estimated over the measurement */
};

/* Measure, once in a process and its forked children: takes 0.1 ms of the calling thread, which is the interval thread
 * at its start. It shares no data with the program's beats, and does not delay them. */
void cost_measure(void);

/* The same before the first beat, when there is no interval thread yet, with the code path that it will choose. For
 * lifecycle_while_idle. */
void cost_measure_idle(void);

/* Measure without storing the result. Thread-safe. */
struct cost cost_try(void);

/* Return the stored result. Thread-safe. */
struct cost cost_measured(void);

#endif

/* A beat that costs more than its share is thinned: its rate factor is raised at run time.
 *
 * Per thread and id there is an account. Time pays into it, EKG_OVERHEAD percent of it and never more than a second's
 * worth, and beats draw from it what they cost on this machine (cost.h). When it is empty, the factor becomes what the
 * last beats would have needed. The time is that of the beats' own stamps, and is looked at once in THINNING_TURNS
 * recorded turns. A turn is an outermost beat, or a pulse by itself: what rate factors skip.
 *
 * Integers only: a program may trap what floating point rounds. */
#ifndef EKG_THINNING_H
#define EKG_THINNING_H

#include <stdbool.h>
#include <stdint.h>

#include "record.h"

#define THINNING_TURNS 256u

/* Share of its thread's time that a beat may cost, in billionths of a percent; 0: no matter how much. Before the
 * interval thread exists. */
void thinning_start(uint64_t nano_percent);

/* Takes over what beats cost, once that is known or the clock is another one. The interval thread's. */
void thinning_price(void);

/* After a recorded turn, for the owner inside its slot: says how many turns are skipped next, and counts those that
 * were. Called when the slot skips, and else once in THINNING_TURNS turns. `now`: when the turn ended, or 0 where no
 * clock was read. Async-signal-safe. */
void thinning_turn(struct record *record, struct slot *slot, uint32_t mode, uint64_t now);

/* Lowers the factor again where it was higher than the last interval needed: `turns` that it had, skipped ones too, in
 * `elapsed` ticks. The interval thread's, which takes slots_lock for it. */
void thinning_relax(struct record *record, struct slot *slot, uint64_t turns, uint64_t elapsed);

#endif

/* What others than its owner may do to a slot, and the owner's way back to it. Each takes the lock that guards slots.
 */
#ifndef EKG_SLOTS_H
#define EKG_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "record.h"

/* Guards what others than the owner may do to a slot, and the owner's way back to it. */
extern struct lock slots_lock;

/* For the owner: makes the slot the current generation's, `on`, without the beats that others have ended, and lets the
 * owner in where others have kept it out. False when that is not the current generation any more: its slots are being
 * taken for the last time. */
bool slots_set_up(struct record *record, struct slot *slot, uint32_t on);

/* A beat has found no record for its thread; beats since the last call that have found none. */
void slots_count_dropped(void);
uint32_t slots_take_dropped(void);

/* Sets how many beats of an id are skipped after a recorded one, in all threads. Thread-safe. */
void slots_set_rate(uint32_t id, uint32_t skip);

/* Lowers that in one thread, from what it was; `chosen`: by the library. Thread-safe. */
void slots_lower(struct slot *slot, struct tally *tally, uint32_t from, uint32_t skip, bool chosen);

/* record_recycle, while nobody looks at the record. */
void slots_recycle(struct record *record);

/* Sends the owners of all slots through the slow path before their next beat. */
void slots_revoke_all(void);

/* Around a fork, in the thread that calls it (both in parent and child): no record is being changed by others. */
uint64_t slots_before_fork(void);
void slots_after_fork(uint64_t mask);

#endif

/* What others than its owner may do to a record. Each takes the lock that guards it. */
#ifndef EKG_SLOW_H
#define EKG_SLOW_H

#include <stdint.h>

#include "lock.h"
#include "record.h"

/* Guards what others than the owner may do to a slot, and the owner's way back to it. */
extern struct lock slots_lock;

/* Lets the owner into a slot that others have kept it out of. False when recording has been switched off since. */
bool slow_admit(struct record *record, struct slot *slot);

/* Beats since the last call that found no record for their thread. */
uint32_t slow_take_dropped(void);

/* Sets how many beats of an id are skipped after a recorded one, in all threads. Thread-safe. */
void slow_set_rate(uint32_t id, uint32_t skip);

/* record_recycle, while nobody looks at the record. */
void slow_recycle(struct record *record);

/* Sends the owners of all slots through the slow path before their next beat. */
void slow_revoke_all(void);

/* Around a fork, in the thread that calls it (both in parent and child): no record is being changed by others. */
uint64_t slow_before_fork(void);
void slow_after_fork(uint64_t mask);

#endif

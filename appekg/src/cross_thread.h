/* Beats that begin in one thread and end in another. */
#ifndef EKG_CROSS_THREAD_H
#define EKG_CROSS_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "record.h"

/* An end at `now` (ticks) for which the calling thread has no begin: it belongs to the oldest open beat of the id in
 * another thread, if there is one. True: that has taken so long, and is the caller's to record. Otherwise it is
 * skipped, or counted as unmatched, or as dropped. */
bool cross_thread_end(struct record *record, struct slot *slot, uint64_t now, uint64_t *duration);

#endif

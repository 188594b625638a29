/* Beats that begin in one thread and end in another. */
#ifndef EKG_ELSEWHERE_H
#define EKG_ELSEWHERE_H

#include <stdint.h>

#include "record.h"

/* An end at `now` (ticks) for which the calling thread has no begin: it belongs to the oldest open beat of the id in
 * another thread, if there is one. */
void elsewhere_end(struct record *record, struct slot *slot, uint64_t now);

#endif

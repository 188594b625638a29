/* The edges of beats: appekg.h has their inlined part. */
#ifndef EKG_BEAT_H
#define EKG_BEAT_H

#include <stdint.h>

#include "record.h"

/* Counts a beat that began elsewhere. For the slot's owner. */
void beat_add(struct slot *slot, uint64_t duration);

#endif

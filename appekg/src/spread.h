/* Where an id begins to look for its place in a hash table: ids that are multiples of something, or each other's
 * neighbours, lie far from each other, whatever that is (the last steps of MurmurHash3). Pure. */
#ifndef EKG_SPREAD_H
#define EKG_SPREAD_H

#include <stdint.h>

static inline uint32_t spread(uint32_t id, uint32_t places)
{
    id = (id ^ id >> 16) * 0x85ebca6bu;
    id = (id ^ id >> 13) * 0xc2b2ae35u;
    return (uint32_t)((uint64_t)(id ^ id >> 16) * places >> 32);
}

#endif

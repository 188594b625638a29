/* Identification of a recurring loop by a hash of its content. */
#include "dpd_internal.h"

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
    return x ^ (x >> 32);
}

/* Return the hash. A loop may be entered at any of its samples, so its content has as many rotations as samples. The
 * hashes of all rotations, each computed from the previous one in one step, are summed, which is independent of the
 * first sample. */
static uint64_t content(const struct dpd *dpd, int32_t period)
{
    const uint64_t base = 0x9E3779B97F4A7C15u;
    uint64_t hash = 0, power = 1, sum = 0;
    for (int32_t back = period - 1; back >= 0; back--) {
        hash = hash * base + mixed((uint64_t)dpd_sample(dpd, back));
        power *= base;
    }
    for (int32_t back = period - 1; back >= 0; back--) {
        uint64_t first = mixed((uint64_t)dpd_sample(dpd, back));
        sum += mixed(hash);
        hash = hash * base - first * power + first;
    }
    return mixed(sum + (uint64_t)period);
}

void dpd_identify(struct dpd *dpd, struct dpd_loop *loop)
{
    loop->hash = content(dpd, loop->period);
    loop->visits = 1;
    uint32_t at = (uint32_t)loop->hash & (DPD_KNOWN - 1);
    while (dpd->known[at].id != 0 && dpd->known[at].hash != loop->hash)
        at = (at + 1) & (DPD_KNOWN - 1);
    struct known *known = &dpd->known[at];
    if (known->id == 0) {
        if (dpd->loops_known >= DPD_KNOWN - DPD_KNOWN / 4)
            return;
        known->hash = loop->hash;
        known->id = ++dpd->loops_known;
    }
    loop->id = known->id;
    loop->visits = ++known->visits;
}

/* The slow path of a beat: start of heartbeats, a record for its thread, a slot for its id, re-entry to the slot. The
 * calls of appekg.h come here if they find no slot, and those of beat.c if the owner has been kept out; once the slot
 * is ready, they continue as if it had been found. */
#define _GNU_SOURCE
#include "lifecycle.h"
#include "record.h"

/* Return the calling thread's slot for an id, ready for a beat; NULL if none is to be recorded. `ends`: a beat without
 * room is counted as lost here (at its end, not also at its begin). */
static struct ekg_slot_ *ready_slot(uint32_t id, bool ends)
{
    if (!lifecycle_start(NULL))
        return NULL;
    uint32_t on = __atomic_load_n(&ekg_shared_.on, __ATOMIC_ACQUIRE); /* so that the mode is no older */
    if (on == 0)
        return NULL;
    struct record *record = record_of_thread();
    if (record == NULL) {
        if (ends)
            slots_count_dropped();
        return NULL;
    }
    struct slot *slot = record_claim(record, id, on);
    if (slot == NULL) {
        if (ends)
            record_count(&record->dropped);
        return NULL;
    }
    bool ready = __atomic_load_n(&slot->key, __ATOMIC_RELAXED) == ekg_key_(on, id) &&
                 __atomic_load_n(&slot->revoked, __ATOMIC_RELAXED) == 0;
    return ready || slots_set_up(record, slot, on) ? (struct ekg_slot_ *)slot : NULL;
}

void ekg_begin_slow_(uint32_t id)
{
    struct ekg_slot_ *slot = ready_slot(id, false);
    if (slot != NULL)
        ekg_begin_found_(slot);
}

void ekg_end_slow_(uint32_t id)
{
    struct ekg_slot_ *slot = ready_slot(id, true);
    if (slot != NULL)
        ekg_end_found_(slot);
}

void ekg_pulse_slow_(uint32_t id)
{
    struct ekg_slot_ *slot = ready_slot(id, true);
    if (slot != NULL)
        ekg_pulse_found_(slot);
}

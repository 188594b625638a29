/* What a beat needs once in a while: a start of all, a record for its thread, a slot for its id, a way back to it. The
 * calls of appekg.h come here where they find no slot, and those of beat.c where the owner has been kept out of it;
 * with the slot ready, they go on as if it had been found. */
#define _GNU_SOURCE
#include "lifecycle.h"
#include "slots.h"

/* The calling thread's slot for an id, ready for a beat; NULL when there is none to be recorded. `ends`: a beat that
 * finds no room is lost here. (It is the end that is counted, not the begin as well.) */
static struct ekg_slot_ *ready_slot(uint32_t id, bool ends)
{
    if (!lifecycle_start(NULL))
        return NULL;
    uint32_t on = __atomic_load_n(&ekg_shared_.on, __ATOMIC_ACQUIRE); /* then the mode is no older */
    if (on == 0)
        return NULL;
    struct record *record = record_mine();
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

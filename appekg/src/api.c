/* The calls of appekg.h as functions, for languages that include no headers. */
#define _GNU_SOURCE
#include "appekg.h"

#include "catalogue.h"
#include "slow.h"

void ekg_begin(uint32_t id)
{
    ekg_begin_inline_(id);
}

void ekg_end(uint32_t id)
{
    ekg_end_inline_(id);
}

void ekg_pulse(uint32_t id)
{
    ekg_pulse_inline_(id);
}

void ekg_name(uint32_t id, const char *name)
{
    catalogue_set_name(id, name);
}

void ekg_rate(uint32_t id, uint32_t factor)
{
    if (factor == 0)
        factor = 1;
    catalogue_set_factor(id, factor);
    __atomic_thread_fence(
        __ATOMIC_SEQ_CST); /* against a thread that is setting up its slot: one of us sees the other */
    slow_set_rate(id, factor - 1);
}

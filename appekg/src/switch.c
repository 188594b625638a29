/* Thread safety: all words are atomic, and written by any thread; the state by the holder of `starting` (lifecycle.c),
 * and by the interval thread at an end that it detects itself. No locks. */
#define _GNU_SOURCE
#include "lifecycle.h"

/* On before the start: the first beat finds no record, and so starts everything (slow_path.c). */
struct ekg_shared_ ekg_shared_ = {.on = 1, .mode = EKG_CAREFUL_};

static uint32_t generation = 1; /* the last value of `on` that was not 0 */
static enum switch_state state;
static bool starts_off;

enum switch_state switch_state(void)
{
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE);
}

void switch_set_state(enum switch_state new_state)
{
    __atomic_store_n(&state, new_state, __ATOMIC_RELEASE);
}

bool switch_is_on(void)
{
    return __atomic_load_n(&ekg_shared_.on, __ATOMIC_RELAXED) != 0;
}

void switch_start_off(bool off)
{
    __atomic_store_n(&starts_off, off, __ATOMIC_RELAXED);
}

bool switch_starts_off(void)
{
    return __atomic_load_n(&starts_off, __ATOMIC_RELAXED);
}

void switch_turn(bool on)
{
    switch_start_off(false);
    if (!on) {
        __atomic_store_n(&ekg_shared_.on, 0, __ATOMIC_SEQ_CST);
        return;
    }
    uint32_t off = 0;
    if (switch_state() == SWITCH_OVER || switch_is_on())
        return;
    uint32_t next = __atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED);
    __atomic_compare_exchange_n(&ekg_shared_.on, &off, next != 0 ? next : 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

void switch_new_generation(void)
{
    if (__atomic_exchange_n(&ekg_shared_.on, 0, __ATOMIC_SEQ_CST) != 0)
        switch_turn(true);
}

void switch_end(void)
{
    switch_set_state(SWITCH_OVER);
    switch_turn(false);
}

void ekg_enable(void)
{
    switch_turn(true);
}

void ekg_disable(void)
{
    switch_turn(false);
}

int ekg_is_enabled(void)
{
    return switch_state() != SWITCH_OVER && switch_is_on() && !switch_starts_off();
}

/* Thread safety: both words are atomic. The start, a forked child and the interval thread write them; all read. */
#include "switch.h"

#include "vfork.h"

static int state = SWITCH_EARLY;
static int is_paused;

void switch_set(enum switch_state new_state)
{
    __atomic_store_n(&state, new_state, __ATOMIC_RELEASE);
}

void switch_pause(bool paused)
{
    __atomic_store_n(&is_paused, paused, __ATOMIC_RELAXED);
}

bool switch_is_on(void)
{
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == SWITCH_ON; /* with all that was set up before */
}

bool switch_is_paused(void)
{
    return __atomic_load_n(&is_paused, __ATOMIC_RELAXED) != 0;
}

bool switch_is_sampling(void)
{
    return switch_is_on() && !switch_is_paused();
}

bool switch_is_off(void)
{
    return __atomic_load_n(&state, __ATOMIC_RELAXED) == SWITCH_OFF;
}

bool switch_is_on_here(void)
{
    return switch_is_on() && !vfork_is_child();
}

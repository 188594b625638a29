#define _GNU_SOURCE
#include "hooks.h"

#include "arcs.h"
#include "switch.h"
#include "sys.h"
#include "thread.h"
#include "thread_life.h"

void incprof_count_slow(uint64_t from, uint64_t self)
{
    if (switch_is_off())
        incprof_tls.arcs = ARCS_NONE; /* the stubs return at once from here on */
    if (!switch_is_on_here())
        return;
    uint64_t mask = sys_block_signals();
    struct thread *thread = incprof_tls.self;
    if (thread == NULL && (thread = thread_new()) != NULL)
        thread_start(thread, 0, 0, self); /* a thread not created by pthread_create */
    if (thread != NULL) {
        arcs_count(&thread->table, from, self);
        thread_use_arcs(thread);
    }
    sys_set_signal_mask(mask);
}

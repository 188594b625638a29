#define _GNU_SOURCE
#include "end_signals.h"

#include <signal.h>

#include "own_signal.h"
#include "thread.h"
#include "ticker.h"
#include "vfork.h"

static int hidden_signal(void)
{
    return incprof_tls.self != NULL ? incprof_tls.self->hidden_signal : 0;
}

void inherited_begin(bool is_exec)
{
    int hidden = hidden_signal();
    if (!own_signal_keeps(SIGURG))
        return;
    if (vfork_is_child()) {
        own_signal_hand_over(hidden);
        return;
    }
    if (is_exec && hidden != 0)
        ticker_pause(incprof_tls.self);
    own_signal_before_exec(hidden);
    /* Pending signals survive an exec; no tick may be among them. */
    if (is_exec && hidden != 0)
        ticker_discard_pending(incprof_tls.self, hidden);
}

void inherited_end(bool is_exec)
{
    int hidden = hidden_signal();
    if (!own_signal_keeps(SIGURG) || vfork_is_child())
        return;
    own_signal_after_exec(hidden);
    if (is_exec && hidden != 0)
        ticker_resume(incprof_tls.self);
}

/* Thread safety: `starting` guards the rest and all changes of the state, except an end that the interval thread itself
 * detects (WORKER_END). `owner` is atomic.
 *
 * Locks, in the order in which they are taken: `starting`, slots_lock (slots.c), then free_lock (record.c) or the
 * catalogue's. A fork takes the first two and the catalogue's; free_lock may be copied while it is held; see
 * record.h. */
#define _GNU_SOURCE
#include "lifecycle.h"

#include <pthread.h>
#include <stdlib.h>

#include "catalogue.h"
#include "clock.h"
#include "log.h"
#include "nvtx_ranges.h"
#include "quiescence.h"
#include "record.h"
#include "sys.h"
#include "worker.h"

static struct lock starting; /* guards changes of the state; taken before all others */
static bool has_begun;       /* once per process image, also across forks */
static bool follows_forks;
static pid_t owner;
static uint64_t fork_masks[3];

static void fork_prepare(void)
{
    uint64_t mask = lock_take(&starting);
    fork_masks[0] = mask;
    fork_masks[1] = slots_before_fork();
    fork_masks[2] = catalogue_before_fork();
    if (switch_state() == SWITCH_IDLE && switch_is_on())
        session_identify();
}

static void fork_parent(void)
{
    catalogue_after_fork(fork_masks[2]);
    slots_after_fork(fork_masks[1]);
    lock_give(&starting, fork_masks[0]);
}

/* Set up a forked child, which gets its own file at its first beat, even while it is switched off, because an operator
 * can switch it on. */
static void begin_in_child(void)
{
    owner = (pid_t)SYS0(SYS_getpid);
    if (switch_state() != SWITCH_RUNNING)
        return;
    nvtx_ranges_stop();
    quiescence_needs_fence = true;
    quiescence_choose_path();
    worker_forget();
    interval_forget();
    records_forget();
    session_forget();
    bool off = !switch_is_on();
    switch_turn(false);
    switch_turn(true);
    switch_start_off(off);
    switch_set_state(SWITCH_FORKED);
}

static void fork_child(void)
{
    begin_in_child();
    fork_parent();
}

/* Run before there is another thread: a thread that forks while another one starts heartbeats must wait for it. */
static __attribute__((constructor)) void at_load(void)
{
    follows_forks = pthread_atfork(fork_prepare, fork_parent, fork_child) == 0;
}

static bool begin_once(const struct ekg_options *options)
{
    if (!session_configure(options))
        return false;
    if (!follows_forks || !records_start()) {
        log_warn("no memory, no heartbeats", NULL);
        return false;
    }
    switch_start_off(session_starts_off());
    return true;
}

static bool begin(const struct ekg_options *options, bool forked)
{
    if (!forked && (has_begun || !begin_once(options)))
        return false;
    has_begun = true;
    __atomic_store_n(&owner, (pid_t)SYS0(SYS_getpid), __ATOMIC_RELAXED);
    const uint64_t start_ns = session_open();
    interval_start(start_ns);
    if (switch_starts_off())
        switch_turn(false);
    if (!session_has_sink())
        return false;
    quiescence_prepare_early();
    if (interval_thread_start(start_ns))
        return true;
    log_warn("cannot start the interval thread, no heartbeats", NULL);
    return false;
}

bool lifecycle_start(const struct ekg_options *options)
{
    enum switch_state now = switch_state();
    if (now == SWITCH_RUNNING || now == SWITCH_OVER)
        return now == SWITCH_RUNNING;
    int errno_kept = errno;
    uint64_t mask = lock_take(&starting);
    now = switch_state();
    if (now == SWITCH_IDLE || now == SWITCH_FORKED) {
        now = begin(options, now == SWITCH_FORKED) ? SWITCH_RUNNING : SWITCH_OVER;
        switch_set_state(now);
        if (now == SWITCH_OVER)
            switch_turn(false);
    }
    lock_give(&starting, mask);
    errno = errno_kept;
    return now == SWITCH_RUNNING;
}

bool lifecycle_while_idle(void (*work)(void))
{
    uint64_t mask = lock_take(&starting);
    bool idle = switch_state() == SWITCH_IDLE;
    if (idle)
        work();
    lock_give(&starting, mask);
    return idle;
}

int ekg_init(const struct ekg_options *options)
{
    bool running = switch_state() == SWITCH_RUNNING;
    if (running)
        return 1;
    return lifecycle_start(options) ? 0 : -1;
}

/* Return whether this process owns the heartbeats. A child created without libc, or by vfork, has its parent's state
 * but not its threads. Before the first beat there is nothing to end either. */
static bool is_owner(void)
{
    return SYS0(SYS_getpid) == __atomic_load_n(&owner, __ATOMIC_RELAXED);
}

void ekg_finalize(void)
{
    if (!is_owner())
        return;
    uint64_t mask = lock_take(&starting);
    enum switch_state before = switch_state();
    if (before == SWITCH_RUNNING) {
        interval_request_last((pid_t)SYS0(SYS_gettid));
        interval_thread_stop();
    }
    if (before == SWITCH_RUNNING || before == SWITCH_FORKED)
        switch_end();
    lock_give(&starting, mask);
}

/* Run after the program's own destructors, even if the library is linked statically: 100 and below are libc's. */
static __attribute__((destructor(101))) void at_exit(void)
{
    ekg_finalize();
    records_stop();
}

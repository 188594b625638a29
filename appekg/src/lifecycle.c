#define _GNU_SOURCE
#include "lifecycle.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue.h"
#include "clock.h"
#include "interval.h"
#include "lock.h"
#include "log.h"
#include "session.h"
#include "settle.h"
#include "slow.h"
#include "sys.h"
#include "turns.h"
#include "worker.h"

/* IDLE until the first beat; FORKED in a child until its first beat; OVER for good. */
enum state { IDLE, FORKED, RUNNING, OVER };

/* On before anything has started: the first beat finds no record, and so comes here. */
struct ekg_shared_ ekg_shared_ = {.on = 1, .mode = EKG_CAREFUL_};

static uint32_t generation = 1; /* the last value of `on` that was not 0 */
static enum state state;
static struct lock starting; /* guards changes of `state`; taken before all others */
static bool has_begun;       /* once per process image, also across forks */
static bool follows_forks;
static bool starts_off; /* a child of a process that is switched off: until its first beat, it only seems to be on */
static pid_t owner;
static uint64_t fork_masks[3];

static enum state get_state(void)
{
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE);
}

void lifecycle_switch(bool on)
{
    __atomic_store_n(&starts_off, false, __ATOMIC_RELAXED);
    if (!on) {
        __atomic_store_n(&ekg_shared_.on, 0, __ATOMIC_SEQ_CST);
        return;
    }
    uint32_t off = 0;
    if (get_state() == OVER || __atomic_load_n(&ekg_shared_.on, __ATOMIC_RELAXED) != 0)
        return;
    uint32_t next = __atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED);
    __atomic_compare_exchange_n(&ekg_shared_.on, &off, next != 0 ? next : 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

void lifecycle_new_generation(void)
{
    if (__atomic_exchange_n(&ekg_shared_.on, 0, __ATOMIC_SEQ_CST) != 0)
        lifecycle_switch(true);
}

void lifecycle_end(void)
{
    __atomic_store_n(&state, OVER, __ATOMIC_RELEASE);
    lifecycle_switch(false);
}

static void fork_prepare(void)
{
    uint64_t mask = lock_take(&starting);
    fork_masks[0] = mask;
    fork_masks[1] = slow_before_fork();
    fork_masks[2] = catalogue_before_fork();
    if (get_state() == IDLE && __atomic_load_n(&ekg_shared_.on, __ATOMIC_RELAXED) != 0)
        session_identify();
}

static void fork_parent(void)
{
    catalogue_after_fork(fork_masks[2]);
    slow_after_fork(fork_masks[1]);
    lock_give(&starting, fork_masks[0]);
}

/* The child is a process of its own: it has a file of its own as soon as it has a beat of its own. That is so while it
 * is switched off, too: an operator can switch it on. */
static void become_a_child(void)
{
    owner = (pid_t)SYS0(SYS_getpid);
    if (get_state() != RUNNING)
        return;
    record_fence = true;
    records_choose_path();
    worker_forget();
    interval_forget();
    records_forget();
    session_forget();
    bool off = __atomic_load_n(&ekg_shared_.on, __ATOMIC_RELAXED) == 0;
    lifecycle_switch(false);
    lifecycle_switch(true);
    starts_off = off;
    __atomic_store_n(&state, FORKED, __ATOMIC_RELEASE);
}

static void fork_child(void)
{
    become_a_child();
    fork_parent();
}

/* Before there is another thread: one that forks while another one starts heartbeats must wait for it. */
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
    starts_off = session_starts_off();
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
    if (starts_off)
        lifecycle_switch(false);
    if (!session_has_sink())
        return false;
    records_prepare_early();
    if (turns_start(start_ns))
        return true;
    log_warn("cannot start the interval thread, no heartbeats", NULL);
    return false;
}

bool lifecycle_start(const struct ekg_options *options)
{
    enum state now = get_state();
    if (now == RUNNING || now == OVER)
        return now == RUNNING;
    int errno_kept = errno;
    uint64_t mask = lock_take(&starting);
    now = get_state();
    if (now == IDLE || now == FORKED) {
        now = begin(options, now == FORKED) ? RUNNING : OVER;
        __atomic_store_n(&state, now, __ATOMIC_RELEASE);
        if (now == OVER)
            lifecycle_switch(false);
    }
    lock_give(&starting, mask);
    errno = errno_kept;
    return now == RUNNING;
}

bool lifecycle_while_idle(void (*work)(void))
{
    uint64_t mask = lock_take(&starting);
    bool idle = get_state() == IDLE;
    if (idle)
        work();
    lock_give(&starting, mask);
    return idle;
}

int ekg_init(const struct ekg_options *options)
{
    bool running = get_state() == RUNNING;
    if (running)
        return 1;
    return lifecycle_start(options) ? 0 : -1;
}

/* A child that was made behind libc's back, or by vfork, has its parent's state and not its threads. Nor has one from
 * before the first beat: there is nothing to end. */
static bool is_owner(void)
{
    return SYS0(SYS_getpid) == __atomic_load_n(&owner, __ATOMIC_RELAXED);
}

void ekg_finalize(void)
{
    if (!is_owner())
        return;
    uint64_t mask = lock_take(&starting);
    enum state before = get_state();
    if (before == RUNNING) {
        interval_ask_last((pid_t)SYS0(SYS_gettid));
        turns_stop();
    }
    if (before == RUNNING || before == FORKED)
        lifecycle_end();
    lock_give(&starting, mask);
}

/* After the program's own destructors, also where the library is a part of the program: 100 and below are libc's. */
static __attribute__((destructor(101))) void at_exit(void)
{
    ekg_finalize();
    records_stop();
}

void ekg_enable(void)
{
    lifecycle_switch(true);
}

void ekg_disable(void)
{
    lifecycle_switch(false);
}

int ekg_is_enabled(void)
{
    return get_state() != OVER && __atomic_load_n(&ekg_shared_.on, __ATOMIC_RELAXED) != 0 &&
           !__atomic_load_n(&starts_off, __ATOMIC_RELAXED);
}

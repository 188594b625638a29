/* Thread safety: a thread writes to its own record alone, with signals blocked, so that its tick handler, which writes
 * there too, does not interrupt it. */
#define _GNU_SOURCE
#include <string.h>

#include "account.h"
#include "extensions.h"
#include "module_scan.h"
#include "modules.h"
#include "next.h"
#include "registers.h"
#include "ring.h"
#include "sampler.h"
#include "switch.h"
#include "sys.h"
#include "thread.h"
#include "ticker.h"
#include "unwind.h"
#include "vfork.h"

/* Of so many events, one drawn at random is timed, and charged for all: reading the clock of CPU time twice costs as
 * much as a short walk. */
#define TIMED_ONE_IN 4

/* Walk from this function outwards, into thread->path. Returns the path's flags. Not inlined: the frame must last. */
static __attribute__((noinline)) uint8_t walk(struct thread *thread, uint64_t now_ns)
{
    struct cursor cursor;
    struct path *path = &thread->path;
    ucontext_t here; /* only what the walk needs is set */
    machine_set_here(&here);
    const struct code_map *map = modules_enter();
    unwind_start(&cursor, map, &here, thread->stack_low, thread->stack_high, thread->window, &thread->cache);
    sampler_walk(thread, &cursor, now_ns + SAMPLER_LONGEST_NS);
    if ((path->result == UNWIND_BROKEN || path->has_gap) && cursor.range == NULL)
        module_scan_request();
    modules_leave(map);
    return path->result != UNWIND_END ? SAMPLE_BROKEN : 0;
}

static enum extension_result put(struct thread *thread, uint32_t number, const uint64_t words[EXTENSION_WORDS],
                                 bool has_path)
{
    uint64_t now_ns = monotonic_ns();
    bool is_timed = ticker_random_below(TIMED_ONE_IN) == 0;
    uint64_t start_ns = is_timed ? sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
    uint8_t flags = 0;
    thread->path.frames = 0;
    if (has_path && modules_are_known())
        flags = walk(thread, now_ns);
    else if (has_path) /* in a process of a job that has had no tick yet */
        module_scan_request();
    bool is_taken = ring_put_event(thread, number, now_ns, flags, words);
    if (is_timed) {
        uint64_t spent_ns = TIMED_ONE_IN * (sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns);
        thread_add(&thread->counters.handler_ns, spent_ns);
        thread_add(&thread->counters.event_ns, spent_ns);
        account_charge(ACCOUNT_EVENTS + number, spent_ns);
    }
    return is_taken ? EXTENSION_TAKEN : EXTENSION_LOST;
}

EXPORT enum extension_result incprof_extension_event(int number, const uint64_t words[EXTENSION_WORDS], bool has_path)
{
    if (switch_is_off())
        return EXTENSION_OFF;
    if (!switch_is_sampling())
        return EXTENSION_LATER;
    struct thread *thread = incprof_tls.self;
    if (thread == NULL || thread->state != THREAD_LIVE || vfork_is_child())
        return EXTENSION_LOST;
    uint64_t mask = sys_block_signals();
    enum extension_result result = put(thread, (uint32_t)number, words, has_path);
    sys_set_signal_mask(mask);
    return result;
}

EXPORT uint32_t incprof_extension_thinning(int number)
{
    return number >= 0 && number < MOST_EXTENSIONS ? account_thinning(ACCOUNT_EVENTS + (uint32_t)number) : ACCOUNT_ALL;
}

/* Thread safety: all state is the collector's, except a thread's `dense_fd`, which its handler reads. It keeps its
 * value after the event is closed, to identify signals still in flight. No locks. */
#define _GNU_SOURCE
#include "sampler.h"

#include "modules.h"
#include "own_signal.h"
#include "switch.h"
#include "sys.h"
#include "ticker.h"

/* Windows are a second apart on average, at random times that no program can be in step with. They cover 2.4 % of the
 * time, for a quarter more samples. Where perf's clock costs most (50 us per tick in virtual machines), that is 0.12 %
 * of one processor. */
#define LEAST_GAP_NS 500000000u
#define MORE_GAP_NS 1000000000u
#define SAMPLES 24
#define SAMPLING_PERIOD_NS 1000000u
/* At this rate and above no dense sampling windows are needed. */
#define FAST_HZ 500
#define NEVER_NS (UINT64_MAX / 4)

static uint64_t half_second; /* of a thread's CPU time, in ticks */
static uint64_t due_ns;
static struct thread *last; /* the thread of the last window */
static int event_fd = -1;   /* in the interval thread's descriptor table */

void dense_window_begin(const struct config *config)
{
    last = NULL;
    half_second = config->rate_hz / 2;
    event_fd = -1; /* it belongs to the forked child's parent */
    due_ns = config->rate_hz < FAST_HZ && config->format == FORMAT_STREAM ? 0 : NEVER_NS;
}

uint64_t dense_window_due_ns(void)
{
    return due_ns;
}

/* Return the next thread in turn that has run for half a second since its last window. The record may have been another
 * thread's. */
static struct thread *next_thread(void)
{
    struct thread *thread = last;
    for (int round = 0; round < 2; round++) {
        for (thread = thread != NULL ? thread->next : thread_first(); thread != NULL; thread = thread->next) {
            uint64_t ticks = __atomic_load_n(&thread->delivered, __ATOMIC_RELAXED);
            if (ticks < thread->dense_ticks)
                thread->dense_ticks = 0;
            if (thread->state == THREAD_LIVE && ticks - thread->dense_ticks >= half_second) {
                thread->dense_ticks = ticks;
                return thread;
            }
        }
    }
    return NULL;
}

static bool start(struct thread *thread, int number)
{
    int fd = perf_event_open(thread->tid, SAMPLING_PERIOD_NS);
    if (fd < 0)
        return thread_has_exited(thread->tid);
    event_fd = fd;
    __atomic_store_n(&thread->dense_fd, fd, __ATOMIC_RELEASE);
    return perf_event_start_some(fd, thread->tid, number, SAMPLES) || thread_has_exited(thread->tid);
}

void dense_window_advance(uint64_t now_ns)
{
    if (now_ns < due_ns)
        return;
    if (event_fd >= 0)
        sys_close(event_fd); /* perhaps of a thread that has slept since */
    event_fd = -1;
    due_ns = now_ns + LEAST_GAP_NS + ticker_random_below(MORE_GAP_NS);
    int number = own_signal();
    if (modules_have_counts() || number == 0) {
        due_ns = NEVER_NS;
        return;
    }
    last = switch_is_sampling() ? next_thread() : NULL;
    if (last != NULL && !start(last, number))
        due_ns = NEVER_NS; /* perf's clock is not permitted here */
}

bool dense_window_has_signal(const struct thread *thread, const siginfo_t *info)
{
    bool of_descriptor = info->si_code >= POLL_IN && info->si_code <= POLL_HUP;
    return of_descriptor && thread != NULL && info->si_fd == __atomic_load_n(&thread->dense_fd, __ATOMIC_ACQUIRE);
}

void dense_window_park(void)
{
    event_fd = -1;
}

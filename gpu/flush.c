/* The thread that asks an interface for its records, where it delivers them only when a buffer is full. Started by the
 * thread that first uses the interface, where libc works. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "gpu.h"
#include "libc.h"
#include "sys.h"

#define PERIOD_NS ((uint64_t)1000000000)

static void (*ask)(bool is_last);
static pid_t process;
static pthread_t thread;
static bool has_thread;
static uint32_t is_ending;

static void *run(void *unused)
{
    while (!futex_wait(&is_ending, 0, monotonic_ns() + PERIOD_NS))
        ask(false);
    return unused;
}

void flush_finish(void)
{
    if (getpid() != process || __atomic_exchange_n(&is_ending, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    futex_wake(&is_ending);
    if (has_thread)
        pthread_join(thread, NULL);
    ask(true);
}

void flush_start(void (*function)(bool is_last))
{
    ask = function;
    process = getpid();
    atexit(flush_finish);
    uint64_t signals = sys_block_signals();
    has_thread = pthread_create(&thread, NULL, run, NULL) == 0;
    sys_set_signal_mask(signals);
}

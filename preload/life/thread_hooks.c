/* Thread safety: the key and the two sizes are written before main, and read by all threads from then on. */
#define _GNU_SOURCE
#include "thread_life.h"

#include <pthread.h>
#include <sys/resource.h>

#include "log.h"
#include "sys.h"
#include "thread.h"

#define MOST_MAIN_STACK ((uint64_t)64 << 20)
#define STACK_SLACK 8192 /* the TCB is near the top of a thread's stack, not at it */

extern void *__libc_stack_end __attribute__((weak));

/* The destructor of this key detects the thread's end. */
static pthread_key_t thread_key;
static bool has_key;
static size_t default_stack, default_guard;

static void on_thread_end(void *record)
{
    thread_end(record);
}

void thread_hooks_enter(struct thread *thread)
{
    if (has_key)
        pthread_setspecific(thread_key, thread);
    signal_stacks_start_thread(thread);
    /* glibc puts a thread's TCB at the top of its stack. */
    uint64_t high = (uint64_t)pthread_self();
    thread_start(thread, high - thread->stack_high + STACK_SLACK, high, (uint64_t)(uintptr_t)thread->routine);
}

size_t thread_hooks_stack_bytes(const pthread_attr_t *attr)
{
    size_t stack = default_stack;
    size_t guard = default_guard;
    if (attr != NULL) {
        pthread_attr_getstacksize(attr, &stack);
        pthread_attr_getguardsize(attr, &guard);
    }
    return stack > guard + 2 * STACK_SLACK ? stack - guard : 2 * STACK_SLACK;
}

/* The main thread's stack can grow down to its limit; the part between rsp and its end is always mapped. */
void thread_hooks_start_main(void)
{
    struct rlimit limit = {0, 0};
    pthread_attr_t attr;
    getrlimit(RLIMIT_STACK, &limit);
    uint64_t bytes = limit.rlim_cur < MOST_MAIN_STACK ? limit.rlim_cur : MOST_MAIN_STACK;
    uint64_t high = ((uint64_t)(uintptr_t)__libc_stack_end & ~(uint64_t)7) + 8;
    if (pthread_getattr_default_np(&attr) == 0) {
        pthread_attr_getstacksize(&attr, &default_stack);
        pthread_attr_getguardsize(&attr, &default_guard);
        pthread_attr_destroy(&attr);
    }
    has_key = pthread_key_create(&thread_key, on_thread_end) == 0;
    struct thread *thread = thread_new();
    if (thread == NULL) {
        log_warn("no memory, not recording the main thread", NULL);
        return;
    }
    if (has_key)
        pthread_setspecific(thread_key, thread);
    signal_stacks_start_thread(thread);
    thread_start(thread, high - bytes, high, 0);
}

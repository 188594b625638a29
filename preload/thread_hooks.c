/* Who may touch what: the key and the two sizes are written before main, and read by all threads from then on. */
#define _GNU_SOURCE
#include "thread_hooks.h"

#include <pthread.h>
#include <sys/resource.h>
#include <threads.h>

#include "log.h"
#include "next.h"
#include "signal_stacks.h"
#include "switch.h"
#include "sys.h"
#include "thread_life.h"

#define MOST_MAIN_STACK ((uint64_t)64 << 20)
#define STACK_SLACK 8192 /* the TCB is near the top of a thread's stack, not at it */

extern void *__libc_stack_end;

/* Thread's end is noticed by the destructor of this key. */
static pthread_key_t thread_key;
static bool has_key;
static size_t default_stack, default_guard;

DECLARE_NEXT(pthread_create);
DECLARE_NEXT(thrd_create);

static void on_thread_end(void *record)
{
    thread_end(record);
}

/* First code of a thread that one of the hooks below has made. */
static void enter_thread(struct thread *thread)
{
    if (has_key)
        pthread_setspecific(thread_key, thread);
    signal_stacks_start_thread(thread);
    /* glibc puts a thread's TCB at the top of its stack. */
    uint64_t high = (uint64_t)pthread_self();
    thread_start(thread, high - thread->stack_high + STACK_SLACK, high, (uint64_t)(uintptr_t)thread->routine);
}

static void *run_thread(void *record)
{
    struct thread *thread = record;
    enter_thread(thread);
    return thread->routine(thread->argument);
}

/* A C11 thread returns an int. */
static int run_c11_thread(void *record)
{
    struct thread *thread = record;
    enter_thread(thread);
    return ((thrd_start_t)(uintptr_t)thread->routine)(thread->argument);
}

/* Usable bytes of the stack that `attr` asks for. */
static size_t stack_bytes(const pthread_attr_t *attr)
{
    size_t stack = default_stack;
    size_t guard = default_guard;
    if (attr != NULL) {
        pthread_attr_getstacksize(attr, &stack);
        pthread_attr_getguardsize(attr, &guard);
    }
    return stack > guard + 2 * STACK_SLACK ? stack - guard : 2 * STACK_SLACK;
}

/* Thread-safe, as pthread_create is. */
EXPORT int pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*routine)(void *), void *argument)
{
    struct thread *thread = switch_is_on() ? thread_new() : NULL;
    if (thread == NULL)
        return NEXT(pthread_create)(id, attr, routine, argument);
    thread->routine = routine;
    thread->argument = argument;
    thread->stack_high = stack_bytes(attr); /* a size, until the thread knows where its stack is */
    int error = NEXT(pthread_create)(id, attr, run_thread, thread);
    if (error != 0)
        thread_give_back(thread);
    return error;
}

/* libc's own makes its threads past our pthread_create. */
EXPORT int thrd_create(thrd_t *id, thrd_start_t routine, void *argument)
{
    struct thread *thread = switch_is_on() ? thread_new() : NULL;
    if (thread == NULL)
        return NEXT(thrd_create)(id, routine, argument);
    thread->routine = (void *(*)(void *))(uintptr_t)routine;
    thread->argument = argument;
    thread->stack_high = stack_bytes(NULL);
    int result = NEXT(thrd_create)(id, run_c11_thread, thread);
    if (result != thrd_success)
        thread_give_back(thread);
    return result;
}

/* The main thread's stack can grow down to its limit; what is between rsp and its end is always mapped. */
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

/* Wrappers of libc's calls that create threads. Every function here is thread-safe, as libc's are. */
#define _GNU_SOURCE
#include <pthread.h>
#include <threads.h>

#include "hooks.h"
#include "next.h"
#include "switch.h"
#include "thread_life.h"

DECLARE_NEXT(pthread_create);
DECLARE_NEXT(thrd_create);

static void *run_thread(void *record)
{
    struct thread *thread = record;
    thread_hooks_enter(thread);
    return thread->routine(thread->argument);
}

/* A C11 thread returns an int. */
static int run_c11_thread(void *record)
{
    struct thread *thread = record;
    thread_hooks_enter(thread);
    return ((thrd_start_t)(uintptr_t)thread->routine)(thread->argument);
}

/* Return the record for a thread that is about to be created, or NULL. Other libraries' constructors may run before
 * ours. */
static struct thread *new_record(void)
{
    chosen_start();
    return switch_is_on_here() ? thread_new() : NULL;
}

EXPORT int pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*routine)(void *), void *argument)
{
    struct thread *thread = new_record();
    if (thread == NULL)
        return NEXT(pthread_create)(id, attr, routine, argument);
    thread->routine = routine;
    thread->argument = argument;
    thread->stack_high = thread_hooks_stack_bytes(attr); /* a size, until the thread sets the address */
    int error = NEXT(pthread_create)(id, attr, run_thread, thread);
    if (error != 0)
        thread_release(thread);
    return error;
}

/* libc's version creates its threads without calling our pthread_create. */
EXPORT int thrd_create(thrd_t *id, thrd_start_t routine, void *argument)
{
    struct thread *thread = new_record();
    if (thread == NULL)
        return NEXT(thrd_create)(id, routine, argument);
    thread->routine = (void *(*)(void *))(uintptr_t)routine;
    thread->argument = argument;
    thread->stack_high = thread_hooks_stack_bytes(NULL);
    int result = NEXT(thrd_create)(id, run_c11_thread, thread);
    if (result != thrd_success)
        thread_release(thread);
    return result;
}

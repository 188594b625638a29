#define _GNU_SOURCE
#include "hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <threads.h>
#include <unistd.h>

#include "collector.h"
#include "log.h"
#include "sampler.h"
#include "signal_stacks.h"
#include "sys.h"
#include "thread.h"

#define EXPORT __attribute__((visibility("default")))
#define MOST_MAIN_STACK ((uint64_t)64 << 20)
#define STACK_SLACK 8192 /* the TCB is near the top of a thread's stack, not at it */

extern void *__libc_stack_end;

/* Thread's end is noticed by the destructor of this key. */
static pthread_key_t thread_key;
static size_t default_stack, default_guard;

/* The next definition of a function, found once. Not async-signal-safe at first use; resolve_hooks makes it so. */
#define REAL(type, name) ((type)real(&real_##name, #name))
static void *real_pthread_create, *real_thrd_create, *real_signal, *real_pthread_sigmask, *real_sigprocmask;

static void *real(void **slot, const char *name)
{
    void *found = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (found == NULL) {
        found = dlsym(RTLD_NEXT, name);
        __atomic_store_n(slot, found, __ATOMIC_RELAXED);
    }
    return found;
}

static void on_thread_end(void *record)
{
    thread_end(record);
}

/* First code of a thread that one of the hooks below has made. */
static void enter_thread(struct thread *thread)
{
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
    typedef int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    create create_thread = REAL(create, pthread_create);
    struct thread *thread = collector_is_on() ? thread_new() : NULL;
    if (thread == NULL)
        return create_thread(id, attr, routine, argument);
    thread->routine = routine;
    thread->argument = argument;
    thread->stack_high = stack_bytes(attr); /* a size, until the thread knows where its stack is */
    int error = create_thread(id, attr, run_thread, thread);
    if (error != 0)
        thread_discard(thread);
    return error;
}

/* libc's own makes its threads past our pthread_create. */
EXPORT int thrd_create(thrd_t *id, thrd_start_t routine, void *argument)
{
    typedef int (*create)(thrd_t *, thrd_start_t, void *);
    create create_thread = REAL(create, thrd_create);
    struct thread *thread = collector_is_on() ? thread_new() : NULL;
    if (thread == NULL)
        return create_thread(id, routine, argument);
    thread->routine = (void *(*)(void *))(uintptr_t)routine;
    thread->argument = argument;
    thread->stack_high = stack_bytes(NULL);
    int result = create_thread(id, run_c11_thread, thread);
    if (result != thrd_success)
        thread_discard(thread);
    return result;
}

/* The main thread's stack can grow down to its limit; what is between rsp and its end is always mapped. */
void hooks_start_main_thread(void)
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
    real(&real_pthread_create, "pthread_create");
    struct thread *thread = thread_new();
    if (thread == NULL) {
        log_warn("no memory, not recording the main thread", NULL);
        return;
    }
    if (pthread_key_create(&thread_key, on_thread_end) == 0)
        pthread_setspecific(thread_key, thread);
    signal_stacks_start_thread(thread);
    thread_start(thread, high - bytes, high, 0);
    at_quick_exit(collector_stop); /* exit calls _mcleanup by itself */
}

/* glibc's gprof runtime. The bounds do not matter: every module's code is known from the kernel. */
EXPORT void __monstartup(unsigned long low, unsigned long high)
{
    (void)low, (void)high;
    int kept = errno;
    collector_start();
    errno = kept;
}

EXPORT void monstartup(unsigned long low, unsigned long high)
{
    __monstartup(low, high);
}

EXPORT void moncontrol(int mode)
{
    collector_pause(mode == 0);
}

EXPORT void _mcleanup(void)
{
    collector_stop();
}

/* Async-signal-safe, as _exit is: collector_stop waits for two seconds at most, and not at all in a vfork child. */
EXPORT void _exit(int status)
{
    collector_stop();
    for (;;)
        SYS1(SYS_exit_group, status);
}

EXPORT void _Exit(int status)
{
    _exit(status);
}

/* The application's own use of our signal is kept for it, and never takes effect in the kernel. */
EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    if (number != SAMPLER_SIGNAL || !collector_is_on())
        return signal_stacks_action(number, action, old);
    sampler_exchange_action(action, old);
    return 0;
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
    typedef sighandler_t (*set)(int, sighandler_t);
    if (number != SAMPLER_SIGNAL || !collector_is_on())
        return REAL(set, signal)(number, handler);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct sigaction old;
    sampler_exchange_action(&action, &old);
    return old.sa_handler;
}

/* A thread that blocks every signal is sampled all the same, unless the application uses ours itself. */
static const sigset_t *without_ours(int how, const sigset_t *set, sigset_t *copy)
{
    struct sigaction action;
    sampler_exchange_action(NULL, &action);
    if (set == NULL || how == SIG_UNBLOCK || !collector_is_on() || action.sa_handler != SIG_DFL)
        return set;
    *copy = *set;
    sigdelset(copy, SAMPLER_SIGNAL);
    return copy;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    typedef int (*mask)(int, const sigset_t *, sigset_t *);
    sigset_t copy;
    return REAL(mask, pthread_sigmask)(how, without_ours(how, set, &copy), old);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    typedef int (*mask)(int, const sigset_t *, sigset_t *);
    sigset_t copy;
    return REAL(mask, sigprocmask)(how, without_ours(how, set, &copy), old);
}

/* Our signal stack is not the application's business: it sees none, and may set one of its own. */
EXPORT int sigaltstack(const stack_t *stack, stack_t *old)
{
    long error = signal_stacks_set(incprof_tls.self, stack, old);
    if (error == 0)
        return 0;
    errno = (int)-error;
    return -1;
}

/* What the hooks call from signal handlers is looked up before there can be any. */
__attribute__((constructor)) static void resolve_hooks(void)
{
    real(&real_signal, "signal");
    real(&real_pthread_sigmask, "pthread_sigmask");
    real(&real_sigprocmask, "sigprocmask");
}

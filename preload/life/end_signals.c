/* Thread safety: `before_end` is written before the first thread; `is_in_force` is atomic. */
#define _GNU_SOURCE
#include "end_signals.h"

#include <stddef.h>

#include "sys.h"
#include "vfork.h"

extern int __sigaction(int number, const struct sigaction *action, struct sigaction *old) __attribute__((weak));

static const int numbers[] = {SIGHUP, SIGINT, SIGABRT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2};
#define SA_RESTORER 0x04000000 /* the kernel's */

enum { COUNT = sizeof numbers / sizeof *numbers };

static void (*before_end)(void);
static bool is_in_force;

/* Return whether this is the first process of a container, to which the kernel does not deliver signals with the
 * default action. */
static bool is_first_process(void)
{
    return SYS0(SYS_getpid) == 1;
}

static void on_end_signal(int number)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    int errno_kept = errno;
    if (!is_first_process()) {
        before_end();
        __sigaction(number, &by_default, NULL);
        SYS3(SYS_tgkill, SYS0(SYS_getpid), SYS0(SYS_gettid), number); /* delivered when this returns */
    }
    errno = errno_kept;
}

/* The handler for a signal whose action was never set, and so lacks libc's restorer. */
static void on_untouched_signal(int number)
{
    on_end_signal(number);
}

static bool is_ours(sighandler_t handler)
{
    return handler == on_end_signal || handler == on_untouched_signal;
}

/* Install our handler, on a signal stack: the interrupted stack may be a coroutine's. */
static void take(int number)
{
    struct sigaction action;
    if (__sigaction(number, NULL, &action) != 0 || action.sa_handler != SIG_DFL)
        return;
    action.sa_handler = (action.sa_flags & SA_RESTORER) != 0 ? on_end_signal : on_untouched_signal;
    action.sa_flags = (action.sa_flags & ~(SA_SIGINFO | (int)SA_RESETHAND)) | SA_ONSTACK;
    __sigaction(number, &action, NULL);
}

/* Restore the kernel's initial action. libc would add a restorer, which sigaction shows. */
static void restore_if_untouched(int number)
{
    const struct {
        uint64_t handler, flags, restorer, mask;
    } none = {0};
    SYS4(SYS_rt_sigaction, number, &none, NULL, sizeof none.mask);
}

static void restore_action(int number)
{
    struct sigaction action;
    if (__sigaction(number, NULL, &action) != 0 || !is_ours(action.sa_handler))
        return;
    if (action.sa_handler == on_untouched_signal) {
        restore_if_untouched(number);
        return;
    }
    end_signals_conceal(&action);
    __sigaction(number, &action, NULL);
}

void end_signals_begin(void (*write_first)(void))
{
    before_end = write_first;
    if (is_first_process()) {
        end_signals_end();
        return;
    }
    __atomic_store_n(&is_in_force, true, __ATOMIC_RELEASE);
    for (int i = 0; i < COUNT; i++)
        take(numbers[i]);
}

void end_signals_end(void)
{
    __atomic_store_n(&is_in_force, false, __ATOMIC_RELEASE);
    for (int i = 0; i < COUNT; i++)
        restore_action(numbers[i]);
}

void end_signals_touched(int number)
{
    struct sigaction action;
    if (vfork_is_child() || __sigaction(number, NULL, &action) != 0 || action.sa_handler != on_untouched_signal)
        return;
    action.sa_handler = on_end_signal;
    __sigaction(number, &action, NULL);
}

sighandler_t end_signals_handler(sighandler_t handler)
{
    return is_ours(handler) ? SIG_DFL : handler;
}

void end_signals_conceal(struct sigaction *action)
{
    if (!is_ours(action->sa_handler))
        return;
    action->sa_flags &= ~(SA_ONSTACK | (action->sa_handler == on_untouched_signal ? SA_RESTORER : 0));
    action->sa_handler = SIG_DFL;
}

void end_signals_follow(int number)
{
    for (int i = 0; i < COUNT; i++)
        if (numbers[i] == number && __atomic_load_n(&is_in_force, __ATOMIC_ACQUIRE) && !vfork_is_child())
            take(number);
}

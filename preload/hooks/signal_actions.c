/* Wrappers of the calls that set a signal's action. The action for the ticks' signal is stored for the application
 * (own_signal.h); a handler with SA_ONSTACK runs on the signal stack if the application has one (thread.h). */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>

#include "end_signals.h"
#include "hooks.h"
#include "next.h"
#include "own_signal.h"
#include "thread.h"
#include "vfork.h"

/* Old programs use old calls. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

DECLARE_NEXT(sigaction);
DECLARE_NEXT(signal);
DECLARE_NEXT(__sysv_signal);
DECLARE_NEXT(sigset);
DECLARE_NEXT(sigignore);
DECLARE_NEXT(siginterrupt);

static int set_action(int number, const struct sigaction *action, struct sigaction *old)
{
    int result = signal_stacks_action(number, action, old);
    if (result == 0 && old != NULL)
        end_signals_conceal(old);
    if (result == 0 && action != NULL)
        end_signals_follow(number);
    return result;
}

/* Update our handlers after another call has changed a signal's action; return the previous handler for the
 * application. */
static sighandler_t changed(int number, sighandler_t before)
{
    end_signals_follow(number);
    return end_signals_handler(before);
}

/* Async-signal-safe and thread-safe, as all below are. */
EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    if (!own_signal_keeps(number))
        return set_action(number, action, old);
    if (vfork_is_child()) {
        own_signal_hand_over(incprof_tls.self != NULL ? incprof_tls.self->hidden_signal : 0);
        return NEXT(sigaction)(number, action, old);
    }
    int error = own_signal_action(number, action, old);
    signal_masks_follow();
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

static sighandler_t keep(int number, sighandler_t handler, int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    struct sigaction old;
    if (handler == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    return sigaction(number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
    return own_signal_keeps(number) ? keep(number, handler, SA_RESTART)
                                    : changed(number, NEXT(signal)(number, handler));
}

EXPORT sighandler_t bsd_signal(int number, sighandler_t handler)
{
    return signal(number, handler);
}

EXPORT sighandler_t ssignal(int number, sighandler_t handler)
{
    return signal(number, handler);
}

/* System V semantics: one-shot, and not blocked during the handler. */
EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    return own_signal_keeps(number) ? keep(number, handler, (int)SA_RESETHAND | SA_NODEFER)
                                    : changed(number, NEXT(__sysv_signal)(number, handler));
}

EXPORT sighandler_t sysv_signal(int number, sighandler_t handler)
{
    return __sysv_signal(number, handler);
}

EXPORT int sigignore(int number)
{
    if (!own_signal_keeps(number))
        return NEXT(sigignore)(number);
    return keep(number, SIG_IGN, 0) == SIG_ERR ? -1 : 0;
}

/* Set the action and unblock the signal, or block it and keep the action; return the previous disposition. */
EXPORT sighandler_t sigset(int number, sighandler_t handler)
{
    if (!own_signal_keeps(number))
        return changed(number, NEXT(sigset)(number, handler));
    sigset_t set;
    sigset_t blocked;
    struct sigaction old;
    bool hold = handler == SIG_HOLD;
    sigemptyset(&set);
    sigaddset(&set, number);
    if (hold ? sigaction(number, NULL, &old) != 0 : (old.sa_handler = keep(number, handler, 0)) == SIG_ERR)
        return SIG_ERR;
    if (sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, &blocked) != 0)
        return SIG_ERR;
    return sigismember(&blocked, number) == 1 ? SIG_HOLD : old.sa_handler;
}

EXPORT int siginterrupt(int number, int interrupts)
{
    struct sigaction action;
    if (!own_signal_keeps(number))
        return NEXT(siginterrupt)(number, interrupts);
    sigaction(number, NULL, &action);
    action.sa_flags = interrupts ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
    return sigaction(number, &action, NULL);
}

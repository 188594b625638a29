/* Wrappers of the calls that block signals or wait for them. The ticks' signal stays unblocked, or becomes the
 * application's (own_signal.h). All are as async-signal-safe and thread-safe as libc's own. */
#define _GNU_SOURCE
#include "hooks.h"

#include <signal.h>
#include <sys/signalfd.h>

#include "next.h"
#include "own_signal.h"
#include "switch.h"
#include "sys.h"
#include "thread.h"
#include "ticker.h"
#include "vfork.h"

DECLARE_NEXT(pthread_sigmask);
DECLARE_NEXT(sigprocmask);
DECLARE_NEXT(sigwait);
DECLARE_NEXT(sigwaitinfo);
DECLARE_NEXT(sigtimedwait);
DECLARE_NEXT(signalfd);

static const int claimable[] = {SIGURG, SIGWINCH};

/* Return the calling thread's record, or NULL: threads without one have no ticks. */
static struct thread *recorded_thread(void)
{
    return switch_is_on() ? incprof_tls.self : NULL;
}

void signal_masks_follow(void)
{
    struct thread *thread = recorded_thread();
    if (thread != NULL)
        own_signal_follow(&thread->hidden_signal);
}

/* Apply another thread's claim here, too: this thread's ticks leave a signal before it is blocked or waited for. */
static void avoid_mask(struct thread *thread, const sigset_t *set)
{
    if (thread->tick_signal != 0 && thread->tick_signal != own_signal() && sigismember(set, thread->tick_signal) == 1)
        ticker_move(thread, true);
}

/* Return whether this is a vfork child, which has its own mask but its parent's record. Checked only where it
 * matters. */
static bool is_of_parent(const struct thread *thread, const sigset_t *set)
{
    int ours = own_signal();
    bool is_named = set != NULL && ((ours != 0 && sigismember(set, ours) == 1) ||
                                    (thread->tick_signal != 0 && sigismember(set, thread->tick_signal) == 1));
    if ((thread->hidden_signal == 0 && !is_named) || !vfork_is_child())
        return false;
    own_signal_hand_over(thread->hidden_signal);
    return true;
}

typedef int (*set_mask)(int how, const sigset_t *set, sigset_t *old);

static int change_mask(set_mask next, int how, const sigset_t *set, sigset_t *old)
{
    struct thread *thread = recorded_thread();
    if (thread == NULL)
        return next(how, set, old);
    if (is_of_parent(thread, set))
        return next(how, set, old);
    int was_hidden = thread->hidden_signal;
    sigset_t copy;
    if (set != NULL) {
        copy = *set;
        own_signal_before_mask(&thread->hidden_signal, how, &copy);
        if (how != SIG_UNBLOCK)
            avoid_mask(thread, &copy);
    }
    int result = next(how, set != NULL ? &copy : NULL, old);
    if (result == 0 && old != NULL && was_hidden != 0)
        sigaddset(old, was_hidden);
    return result;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    return change_mask(NEXT(pthread_sigmask), how, set, old);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    return change_mask(NEXT(sigprocmask), how, set, old);
}

static int block_one(int how, int number)
{
    sigset_t set;
    sigemptyset(&set);
    return sigaddset(&set, number) == 0 ? sigprocmask(how, &set, NULL) : -1;
}

EXPORT int sighold(int number)
{
    return block_one(SIG_BLOCK, number);
}

EXPORT int sigrelse(int number)
{
    return block_one(SIG_UNBLOCK, number);
}

/* BSD mask: signals 1 to 31, and one of libc's own, in an int. */
static int change_bsd_mask(int how, int mask)
{
    sigset_t set;
    sigset_t old;
    unsigned int before = 0;
    sigemptyset(&set);
    for (int number = 1; number <= 31; number++)
        if (((unsigned int)mask >> (number - 1) & 1) != 0)
            sigaddset(&set, number);
    sigprocmask(how, &set, &old);
    for (int number = 1; number <= 31; number++)
        if (sigismember(&old, number) == 1)
            before |= 1u << (number - 1);
    return (int)before;
}

EXPORT int sigblock(int mask)
{
    return change_bsd_mask(SIG_BLOCK, mask);
}

EXPORT int sigsetmask(int mask)
{
    return change_bsd_mask(SIG_SETMASK, mask);
}

/* Return the set to pass to the kernel in place of the application's. */
static const sigset_t *without_own_signals(const sigset_t *set, sigset_t *copy)
{
    struct thread *thread = recorded_thread();
    if (set == NULL || thread == NULL || is_of_parent(thread, set))
        return set;
    *copy = *set;
    own_signal_before_wait(&thread->hidden_signal, copy);
    avoid_mask(thread, copy);
    for (int i = 0; i < 2; i++)
        if (claimable[i] != own_signal() && own_signal_keeps(claimable[i]) && sigismember(copy, claimable[i]) == 1)
            ticker_discard_pending(thread, claimable[i]);
    return copy;
}

EXPORT int sigwait(const sigset_t *set, int *number)
{
    sigset_t copy;
    return NEXT(sigwait)(without_own_signals(set, &copy), number);
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    sigset_t copy;
    return NEXT(sigwaitinfo)(without_own_signals(set, &copy), info);
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    sigset_t copy;
    return NEXT(sigtimedwait)(without_own_signals(set, &copy), info, timeout);
}

EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
    sigset_t copy;
    return NEXT(signalfd)(fd, without_own_signals(set, &copy), flags);
}

/* The calls that block signals or wait for them. The ticks' signal stays unblocked, or becomes the application's
 * (own_signal.h). All are as async-signal-safe and thread-safe as libc's own. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "next.h"
#include "own_signal.h"
#include "switch.h"
#include "thread.h"
#include "ticker.h"

DECLARE_NEXT(pthread_sigmask);
DECLARE_NEXT(sigprocmask);
DECLARE_NEXT(sigwait);
DECLARE_NEXT(sigwaitinfo);
DECLARE_NEXT(sigtimedwait);
DECLARE_NEXT(signalfd);

/* The set that the kernel is given for the application's. A claim made elsewhere reaches this thread here, too: its
 * ticks leave a signal before that is blocked or waited for. */
static const sigset_t *without_ours(const sigset_t *set, sigset_t *copy)
{
    struct thread *thread = incprof_tls.self;
    if (set == NULL || !switch_is_on())
        return set;
    *copy = *set;
    own_signal_before_block(copy);
    if (thread != NULL && thread->tick_signal != 0 && sigismember(copy, thread->tick_signal) == 1)
        ticker_move(thread, true);
    return copy;
}

static const sigset_t *to_block(int how, const sigset_t *set, sigset_t *copy)
{
    return how == SIG_UNBLOCK ? set : without_ours(set, copy);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t copy;
    return NEXT(pthread_sigmask)(how, to_block(how, set, &copy), old);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t copy;
    return NEXT(sigprocmask)(how, to_block(how, set, &copy), old);
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

/* BSD's: a mask of signals 1 to 32 in an int. */
static int change_bsd_mask(int how, int mask)
{
    sigset_t set;
    sigset_t old;
    unsigned int before = 0;
    sigemptyset(&set);
    for (int number = 1; number <= 32; number++)
        if (((unsigned int)mask >> (number - 1) & 1) != 0)
            sigaddset(&set, number);
    sigprocmask(how, &set, &old);
    for (int number = 1; number <= 32; number++)
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

EXPORT int sigwait(const sigset_t *set, int *number)
{
    sigset_t copy;
    return NEXT(sigwait)(without_ours(set, &copy), number);
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    sigset_t copy;
    return NEXT(sigwaitinfo)(without_ours(set, &copy), info);
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    sigset_t copy;
    return NEXT(sigtimedwait)(without_ours(set, &copy), info, timeout);
}

EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
    sigset_t copy;
    return NEXT(signalfd)(fd, without_ours(set, &copy), flags);
}

/* Before any signal handler can get here. */
__attribute__((constructor)) static void find_next(void)
{
    FIND_NEXT(pthread_sigmask);
    FIND_NEXT(sigprocmask);
    FIND_NEXT(sigwait);
    FIND_NEXT(sigwaitinfo);
    FIND_NEXT(sigtimedwait);
    FIND_NEXT(signalfd);
}

/* Thread safety: `tick_handler` is written before the first thread. `current` is atomic and only ever grows. A thread
 * that sets an action of the application writes it to a slot that it has reserved (`count`, atomic), and publishes it
 * by a release store to `latest`; readers use the latest. No locks: all of it runs in handlers too. */
#define _GNU_SOURCE
#include "own_signal.h"

#include <stddef.h>

#include "sys.h"
#include "vfork.h"

extern int __sigaction(int number, const struct sigaction *action, struct sigaction *old) __attribute__((weak));

#define SA_RESTORER 0x04000000 /* the kernel's */

enum { CANDIDATES = 2, VERSIONS = 16 };

static const int candidates[CANDIDATES] = {SIGURG, SIGWINCH};
static int current = -1; /* index of the ticks' signal; those before it have been claimed; -1 before the start */
static signal_handler tick_handler;

/* The application's actions. A new version goes to a new slot, because a handler may be reading the previous one. */
static struct kept {
    struct sigaction versions[VERSIONS];
    uint32_t count; /* versions made */
    uint32_t latest;
} kept[CANDIDATES];

static int index_of(int number)
{
    for (int i = 0; i < CANDIDATES; i++)
        if (candidates[i] == number)
            return i;
    return -1;
}

static int current_index(void)
{
    return __atomic_load_n(&current, __ATOMIC_ACQUIRE);
}

int own_signal(void)
{
    int i = current_index();
    return i >= 0 && i < CANDIDATES ? candidates[i] : 0;
}

bool own_signal_keeps(int number)
{
    int i = index_of(number);
    return i >= 0 && i <= current_index();
}

static struct sigaction kept_action(int i)
{
    return kept[i].versions[__atomic_load_n(&kept[i].latest, __ATOMIC_ACQUIRE)];
}

static void keep(int i, const struct sigaction *action)
{
    uint32_t place = __atomic_fetch_add(&kept[i].count, 1, __ATOMIC_RELAXED) % VERSIONS;
    kept[i].versions[place] = *action;
    __atomic_store_n(&kept[i].latest, place, __ATOMIC_RELEASE);
}

static bool does_nothing(const struct sigaction *action)
{
    return action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN;
}

/* Install our handler: as the ticks need it, or with the application's mask and flags, which then have their usual
 * effect. SA_RESETHAND is left to pass_on: a late tick must not use it up. */
static int install(int i, const struct sigaction *application, struct sigaction *before)
{
    struct sigaction action = {.sa_sigaction = tick_handler, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    if (application == NULL || does_nothing(application)) {
        sigfillset(&action.sa_mask);
    } else {
        action.sa_mask = application->sa_mask;
        action.sa_flags = SA_SIGINFO | (application->sa_flags & ~SA_RESETHAND);
    }
    return __sigaction(candidates[i], &action, before);
}

/* Make candidate `i` the ticks' signal, unless the application has a handler for it. */
static bool take(int i)
{
    struct sigaction before;
    if (__sigaction(candidates[i], NULL, &before) != 0)
        return false;
    if (before.sa_sigaction == tick_handler) /* another thread is installing it */
        return true;
    keep(i, &before);
    return does_nothing(&before) && install(i, NULL, NULL) == 0;
}

bool own_signal_begin(signal_handler on_tick)
{
    int errno_kept = errno;
    tick_handler = on_tick;
    for (int i = 0; i < CANDIDATES; i++) {
        if (take(i)) {
            __atomic_store_n(&current, i, __ATOMIC_RELEASE);
            errno = errno_kept;
            return true;
        }
    }
    errno = errno_kept;
    return false;
}

/* Give candidate `i`, the ticks' signal, to the application. */
static void yield_signal(int i)
{
    int next = i + 1;
    int errno_kept = errno;
    while (next < CANDIDATES && !take(next))
        next++;
    __atomic_compare_exchange_n(&current, &i, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    errno = errno_kept;
}

/* Complete the action as sigaction returns it: with the restorer that libc adds, without signals that cannot be
 * blocked. */
static void complete(int i, struct sigaction *action)
{
    struct sigaction ours;
    if (__sigaction(candidates[i], NULL, &ours) != 0)
        return;
    action->sa_flags |= ours.sa_flags & SA_RESTORER;
    action->sa_restorer = ours.sa_restorer;
    sigdelset(&action->sa_mask, SIGKILL);
    sigdelset(&action->sa_mask, SIGSTOP);
}

int own_signal_action(int number, const struct sigaction *action, struct sigaction *old)
{
    int i = index_of(number);
    struct sigaction before = kept_action(i);
    if (action != NULL) {
        struct sigaction wanted = *action; /* may be the same object as `old` */
        complete(i, &wanted);
        keep(i, &wanted);
        if (!does_nothing(&wanted) && i == current_index())
            yield_signal(i);
        if (i < current_index() && install(i, &wanted, NULL) != 0)
            return errno;
    }
    if (old != NULL)
        *old = before;
    return 0;
}

static void change_mask(int how, int number)
{
    uint64_t set = (uint64_t)1 << (number - 1);
    SYS4(SYS_rt_sigprocmask, how, &set, NULL, sizeof set);
}

void own_signal_send_again(int number, siginfo_t *info)
{
    long process = SYS0(SYS_getpid);
    if (info->si_code == SI_TKILL)
        SYS4(SYS_rt_tgsigqueueinfo, process, SYS0(SYS_gettid), number, info);
    else
        SYS3(SYS_rt_sigqueueinfo, process, number, info);
}

void own_signal_pass_on(int *hidden, int number, siginfo_t *info, ucontext_t *context)
{
    int i = index_of(number);
    if (i < 0)
        return;
    if (vfork_is_child()) {
        own_signal_hand_over(*hidden);
        if (*hidden == number)
            sigaddset(&context->uc_sigmask, number);
        own_signal_send_again(number, info);
        return;
    }
    if (*hidden == number) {
        *hidden = 0;
        if (i == current_index())
            yield_signal(i);
        sigaddset(&context->uc_sigmask, number);
        own_signal_send_again(number, info);
        return;
    }
    struct sigaction action = kept_action(i);
    if (does_nothing(&action))
        return; /* both signals do nothing by default */
    if ((action.sa_flags & SA_RESETHAND) != 0) {
        struct sigaction reset = action;
        reset.sa_handler = SIG_DFL;
        keep(i, &reset);
    }
    if ((action.sa_flags & SA_SIGINFO) != 0)
        action.sa_sigaction(number, info, context);
    else
        action.sa_handler(number);
}

void own_signal_follow(int *hidden)
{
    if (*hidden == 0 || *hidden == own_signal())
        return;
    change_mask(SIG_BLOCK, *hidden);
    *hidden = 0;
}

/* Return whether the kernel has our handler for candidate `i`: in a vfork child, until own_signal_hand_over. */
static bool is_installed(int i)
{
    struct sigaction now;
    return i <= current_index() && __sigaction(candidates[i], NULL, &now) == 0 && now.sa_sigaction == tick_handler;
}

void own_signal_hand_over(int hidden)
{
    int errno_kept = errno;
    for (int i = 0; i < CANDIDATES; i++) {
        if (!is_installed(i))
            continue;
        if (candidates[i] == hidden)
            change_mask(SIG_BLOCK, hidden);
        struct sigaction action = kept_action(i);
        __sigaction(candidates[i], &action, NULL);
    }
    errno = errno_kept;
}

void own_signal_end(int *hidden)
{
    own_signal_hand_over(*hidden);
    *hidden = 0;
    __atomic_store_n(&current, -1, __ATOMIC_RELEASE);
}

/* Ignore the signal. The kernel then discards pending instances, blocked or not. */
static void ignore(int number, const struct sigaction *action)
{
    const struct timespec none = {0, 0};
    uint64_t set = (uint64_t)1 << (number - 1);
    siginfo_t info;
    bool is_pending = SYS4(SYS_rt_sigtimedwait, &set, &info, &none, sizeof set) == number;
    __sigaction(number, action, NULL);
    if (is_pending)
        own_signal_send_again(number, &info);
}

/* Of the actions, a program inherits only ignored signals. */
void own_signal_before_exec(int hidden)
{
    int errno_kept = errno;
    if (hidden != 0)
        change_mask(SIG_BLOCK, hidden);
    for (int i = 0; i < CANDIDATES && i <= current_index(); i++) {
        struct sigaction action = kept_action(i);
        if (action.sa_handler == SIG_IGN)
            ignore(candidates[i], &action);
    }
    errno = errno_kept;
}

/* Another thread may have changed the action meanwhile. */
void own_signal_after_exec(int hidden)
{
    int errno_kept = errno;
    for (int i = 0; i < CANDIDATES && i <= current_index(); i++) {
        struct sigaction action = kept_action(i);
        bool is_ticks = i == current_index();
        if ((is_ticks || does_nothing(&action)) && !is_installed(i))
            install(i, is_ticks ? NULL : &action, NULL);
    }
    if (hidden != 0)
        change_mask(SIG_UNBLOCK, hidden);
    errno = errno_kept;
}

void own_signal_before_mask(int *hidden, int how, sigset_t *set)
{
    own_signal_follow(hidden);
    int ours = own_signal();
    bool named = ours != 0 && sigismember(set, ours) == 1;
    if (how == SIG_UNBLOCK)
        *hidden = named ? 0 : *hidden;
    else if (how == SIG_SETMASK)
        *hidden = named ? ours : 0;
    else if (named)
        *hidden = ours;
    if (named && how != SIG_UNBLOCK)
        sigdelset(set, ours);
}

void own_signal_before_wait(int *hidden, sigset_t *set)
{
    bool is_all = sigismember(set, SIGRTMAX) == 1;
    for (int i = 0; i < CANDIDATES; i++) {
        if (i != current_index() || sigismember(set, candidates[i]) != 1)
            continue;
        if (is_all)
            sigdelset(set, candidates[i]);
        else
            yield_signal(i);
    }
    own_signal_follow(hidden);
}

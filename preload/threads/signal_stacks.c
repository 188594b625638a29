/* Thread safety: `rules` and the application's actions change under `lock`; `rules` is read without it where only its
 * being 0 matters. `tick_signals` is written before the first thread. A thread's application_stack is its own. The lock
 * is held with all signals blocked, and no other lock is taken under it. */
#define _GNU_SOURCE
#include "thread.h"

#include "next.h"
#include "sys.h"
#include "vfork.h"

/* A signal frame takes 3.6 KiB with AVX-512, our handler another 3. */
#define SMALLEST_STACK 8192
/* Room for an application handler, both frames, and our handler. */
#define ROOMY_STACK 65536

#define SA_RESTORER 0x04000000 /* the kernel's */

enum { SIGNALS = 64 };

extern int __sigaction(int number, const struct sigaction *action, struct sigaction *old) __attribute__((weak));
typedef int (*set_function)(int, const struct sigaction *, struct sigaction *);

DECLARE_NEXT(sigaction);
DECLARE_NEXT(sigaltstack);

/* Treatment of handlers with SA_ONSTACK. Rules are added and never removed. */
enum { IN_FORCE = 1, HAS_STACKS = 2, HAS_SMALL_STACKS = 4 };
static unsigned int rules;
static sigset_t tick_signals;

/* Guarded by `lock`: the application's actions where the kernel's differ. */
static int lock;
static struct sigaction requested[SIGNALS + 1];
static uint64_t changed;

static uint64_t bit_of(int number)
{
    return (uint64_t)1 << (number - 1);
}

static uint64_t acquire(void)
{
    uint64_t mask = sys_block_signals();
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0) {
        struct timespec pause = {0, 20000}; /* sleep, because the holder may have a lower real-time priority */
        SYS2(SYS_nanosleep, &pause, NULL);
    }
    return mask;
}

static void release(uint64_t mask)
{
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    sys_set_signal_mask(mask);
}

static bool concerns_us(const struct sigaction *action)
{
    return (action->sa_flags & SA_ONSTACK) != 0 && action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/* Return the action for the kernel that corresponds to the application's. */
static struct sigaction with_stack_flags(const struct sigaction *action)
{
    struct sigaction result = *action;
    if ((rules & HAS_STACKS) == 0)
        result.sa_flags &= ~SA_ONSTACK;
    else if ((rules & HAS_SMALL_STACKS) != 0)
        sigorset(&result.sa_mask, &result.sa_mask, &tick_signals);
    return result;
}

/* Return the application's action for the kernel's action `now`. Actions changed without sigaction (libc's own signal)
 * are returned as in the kernel. */
static struct sigaction requested_action(int number, const struct sigaction *now)
{
    bool is_kept = number >= 1 && number <= SIGNALS && (changed & bit_of(number)) != 0 &&
                   requested[number].sa_handler == now->sa_handler;
    if (!is_kept)
        return *now;
    struct sigaction result = requested[number];
    result.sa_flags |= now->sa_flags & SA_RESTORER; /* libc's; sa_mask without unblockable signals */
    result.sa_restorer = now->sa_restorer;
    sigdelset(&result.sa_mask, SIGKILL);
    sigdelset(&result.sa_mask, SIGSTOP);
    return result;
}

/* Set an action, under the lock. `set`: the function to call, because other libraries wrap sigaction too. */
static int set_action(set_function set, int number, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction before;
    bool valid = number >= 1 && number <= SIGNALS;
    bool ours = action != NULL && valid && concerns_us(action);
    struct sigaction wanted;
    if (ours)
        wanted = with_stack_flags(action);
    int result = set(number, ours ? &wanted : action, &before);
    if (result != 0)
        return result;
    struct sigaction reported = requested_action(number, &before);
    if (ours) {
        requested[number] = *action;
        changed |= bit_of(number);
    } else if (action != NULL && valid) {
        changed &= ~bit_of(number);
    }
    if (old != NULL)
        *old = reported;
    return 0;
}

/* Set an action in a vfork child, which has no ticks, and its parent's memory. */
static int set_action_of_child(int number, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction before;
    int result = NEXT(sigaction)(number, action, &before);
    if (result == 0 && old != NULL)
        *old = requested_action(number, &before);
    return result;
}

int signal_stacks_action(int number, const struct sigaction *action, struct sigaction *old)
{
    if (__atomic_load_n(&rules, __ATOMIC_RELAXED) == 0)
        return NEXT(sigaction)(number, action, old);
    if (vfork_is_child())
        return set_action_of_child(number, action, old);
    uint64_t mask = acquire();
    int result = set_action(NEXT(sigaction), number, action, old);
    release(mask);
    return result;
}

/* Add a rule, under the lock, and apply it to installed handlers before any caller relies on it. */
static void add_rule(unsigned int rule)
{
    if ((rules & rule) == rule)
        return;
    int saved_errno = errno; /* some numbers are reserved for libc and refused */
    rules |= rule;
    for (int number = 1; number <= SIGNALS; number++) {
        struct sigaction action;
        if (set_action(__sigaction, number, NULL, &action) == 0 && concerns_us(&action))
            set_action(__sigaction, number, &action, NULL);
    }
    errno = saved_errno;
}

void signal_stacks_begin(const sigset_t *ticks)
{
    stack_t present;
    tick_signals = *ticks;
    bool has_stack = SYS2(SYS_sigaltstack, NULL, &present) == 0 && (present.ss_flags & SS_DISABLE) == 0;
    bool has_small = has_stack && present.ss_size < ROOMY_STACK;
    uint64_t mask = acquire();
    add_rule((unsigned int)IN_FORCE | (has_stack ? HAS_STACKS : 0) | (has_small ? HAS_SMALL_STACKS : 0));
    release(mask);
}

void signal_stacks_after_fork(void)
{
    if (lock == 0)
        return;
    lock = 0; /* the thread that held it does not exist here; its work may be half done */
    unsigned int all = rules;
    rules &= IN_FORCE;
    uint64_t mask = acquire();
    add_rule(all);
    release(mask);
}

static void use_own_stack(struct thread *thread)
{
    const stack_t ours = {.ss_sp = thread->signal_stack, .ss_size = sizeof thread->signal_stack};
    SYS2(SYS_sigaltstack, &ours, NULL);
}

void signal_stacks_start_thread(struct thread *thread)
{
    stack_t present;
    thread->application_stack = (stack_t){.ss_flags = SS_DISABLE};
    if (SYS2(SYS_sigaltstack, NULL, &present) == 0 && (present.ss_flags & SS_DISABLE) != 0)
        use_own_stack(thread);
}

/* Set the stack in the kernel; return the application's stack instead of ours. Negative errno on failure. */
static long set_kernel_stack(const struct thread *thread, const stack_t *stack, stack_t *before)
{
    long error = SYS2(SYS_sigaltstack, stack, before); /* the kernel checks the arguments */
    if (error == 0 && thread != NULL && before->ss_sp == thread->signal_stack) {
        int on_it = before->ss_flags & SS_ONSTACK;
        *before = thread->application_stack;
        before->ss_flags |= (before->ss_flags & SS_DISABLE) == 0 ? on_it : 0;
    }
    return error;
}

/* Change the stack under the lock: no signal may arrive between the kernel's change and ours. Negative errno on
 * failure. */
static long change_stack(const stack_t *stack, stack_t *old)
{
    struct thread *thread = incprof_tls.self;
    stack_t before;
    bool usable = stack != NULL && (stack->ss_flags & SS_DISABLE) == 0;
    if (usable)
        add_rule(stack->ss_size < ROOMY_STACK ? HAS_STACKS | HAS_SMALL_STACKS : HAS_STACKS);
    long error = set_kernel_stack(thread, stack, &before);
    if (error != 0)
        return error;
    if (thread != NULL && stack != NULL) {
        thread->application_stack = usable ? *stack : (stack_t){.ss_flags = SS_DISABLE};
        if (!usable || stack->ss_size < SMALLEST_STACK)
            use_own_stack(thread);
    }
    if (old != NULL)
        *old = before;
    return 0;
}

static long set_stack(const stack_t *stack, stack_t *old)
{
    if (vfork_is_child()) {
        stack_t before;
        long failed = set_kernel_stack(incprof_tls.self, stack, &before);
        if (failed == 0 && old != NULL)
            *old = before;
        return failed;
    }
    uint64_t mask = acquire();
    long error = change_stack(stack, old);
    release(mask);
    return error;
}

/* Our signal stack is invisible to the application, which may set one of its own. */
EXPORT int sigaltstack(const stack_t *stack, stack_t *old)
{
    if (__atomic_load_n(&rules, __ATOMIC_RELAXED) == 0)
        return NEXT(sigaltstack)(stack, old);
    long error = set_stack(stack, old);
    if (error == 0)
        return 0;
    errno = (int)-error;
    return -1;
}

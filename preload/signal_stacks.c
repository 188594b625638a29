#define _GNU_SOURCE
#include "signal_stacks.h"

#include "ticker.h"
#include "sys.h"

/* A signal frame takes 3.6 KiB where there is AVX-512, our handler another 2. */
#define SMALLEST_STACK 8192
/* Room for a handler of the application's, both frames, and ours. */
#define ROOMY_STACK 65536

extern int __sigaction(int number, const struct sigaction *action, struct sigaction *old);

/* Once some thread has a stack between the two, handlers keep our signal from interrupting them, for good. */
enum { ROOM_FOR_ALL, MASKING, MASKED };
static int room;
static uint64_t masked; /* signals whose handlers we keep ours from interrupting */

static uint64_t bit_of(int number)
{
    return (uint64_t)1 << (number - 1);
}

static bool needs_mask(int number, const struct sigaction *action)
{
    return __atomic_load_n(&room, __ATOMIC_ACQUIRE) != ROOM_FOR_ALL && (action->sa_flags & SA_ONSTACK) != 0 &&
           action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN && number != SAMPLER_SIGNAL &&
           sigismember(&action->sa_mask, SAMPLER_SIGNAL) == 0;
}

int signal_stacks_action(int number, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction copy;
    bool was_masked = number >= 1 && number <= 64 && (__atomic_load_n(&masked, __ATOMIC_RELAXED) & bit_of(number)) != 0;
    bool mask = action != NULL && needs_mask(number, action);
    if (mask) {
        copy = *action;
        sigaddset(&copy.sa_mask, SAMPLER_SIGNAL);
    }
    int result = __sigaction(number, mask ? &copy : action, old);
    if (result != 0)
        return result;
    if (old != NULL && was_masked)
        sigdelset(&old->sa_mask, SAMPLER_SIGNAL);
    if (mask)
        __atomic_fetch_or(&masked, bit_of(number), __ATOMIC_RELAXED);
    else if (action != NULL && was_masked)
        __atomic_fetch_and(&masked, ~bit_of(number), __ATOMIC_RELAXED);
    if (!mask && action != NULL && needs_mask(number, action)) /* another thread got its stack meanwhile */
        return signal_stacks_action(number, action, NULL);
    return 0;
}

/* Handlers that were installed before the first such stack. No thread leaves with its stack before all are done. */
static void mask_all(void)
{
    int expected = ROOM_FOR_ALL;
    if (!__atomic_compare_exchange_n(&room, &expected, MASKING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        while (__atomic_load_n(&room, __ATOMIC_ACQUIRE) != MASKED)
            SYS0(SYS_sched_yield);
        return;
    }
    int kept = errno; /* some numbers are libc's own and refused */
    for (int number = 1; number <= 64; number++) {
        struct sigaction action;
        if (__sigaction(number, NULL, &action) == 0 && needs_mask(number, &action))
            signal_stacks_action(number, &action, NULL);
    }
    __atomic_store_n(&room, MASKED, __ATOMIC_RELEASE);
    errno = kept;
}

void signal_stacks_after_fork(void)
{
    if (room == MASKING) /* the thread that was at it is not here */
        room = ROOM_FOR_ALL;
}

static void use_ours(struct thread *thread)
{
    stack_t ours = {.ss_sp = thread->signal_stack, .ss_size = SIGNAL_STACK};
    SYS2(SYS_sigaltstack, &ours, NULL);
}

void signal_stacks_start_thread(struct thread *thread)
{
    stack_t present;
    thread->application_stack = (stack_t){.ss_flags = SS_DISABLE};
    if (SYS2(SYS_sigaltstack, NULL, &present) == 0 && (present.ss_flags & SS_DISABLE) != 0)
        use_ours(thread);
}

static long set_stack(struct thread *thread, const stack_t *stack, stack_t *old)
{
    stack_t before;
    long error = SYS2(SYS_sigaltstack, stack, &before); /* the kernel judges what it is asked for */
    if (error != 0)
        return error;
    if (thread != NULL && before.ss_sp == thread->signal_stack) {
        int on_it = before.ss_flags & SS_ONSTACK;
        before = thread->application_stack;
        before.ss_flags |= (before.ss_flags & SS_DISABLE) == 0 ? on_it : 0;
    }
    bool usable = stack != NULL && (stack->ss_flags & SS_DISABLE) == 0;
    if (thread != NULL && stack != NULL) {
        bool ours = !usable || stack->ss_size < SMALLEST_STACK;
        thread->application_stack = usable ? *stack : (stack_t){.ss_flags = SS_DISABLE};
        if (ours)
            use_ours(thread);
    }
    if (usable && stack->ss_size >= SMALLEST_STACK && stack->ss_size < ROOMY_STACK)
        mask_all();
    if (old != NULL)
        *old = before;
    return 0;
}

/* No signal may come between the kernel's change and ours. */
long signal_stacks_set(struct thread *thread, const stack_t *stack, stack_t *old)
{
    uint64_t all = ~(uint64_t)0;
    uint64_t mask = 0;
    SYS4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &mask, sizeof all);
    long error = set_stack(thread, stack, old);
    SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
    return error;
}

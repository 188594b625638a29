/* Stacks: deep ones, the host's own signal stacks, coroutines, and the end of a stack. */
#include "host.h"

#include <alloca.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#define MAIN_DEPTH 10000
#define FRAME_BYTES 256

static __attribute__((noinline)) long descend(long depth, long burn_ms)
{
    volatile char frame[16] = {0};
    if (depth <= 0) {
        burn(burn_ms);
        return frame[3];
    }
    return descend(depth - 1, burn_ms) + 1 + frame[5];
}

struct descent {
    long depth, milliseconds, reached;
};

static void *descend_thread(void *argument)
{
    struct descent *descent = argument;
    descent->reached = descend(descent->depth, descent->milliseconds);
    return NULL;
}

/* Deep recursion, with some work at its end: in a thread with room for it where it is very deep. */
static void dive(struct descent *descent)
{
    if (descent->depth <= MAIN_DEPTH) {
        descend_thread(descent);
        return;
    }
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)descent->depth * FRAME_BYTES + (1 << 20));
    if (pthread_create(&thread, &attributes, descend_thread, descent) == 0)
        pthread_join(thread, NULL);
}

static void act_deep(long number)
{
    struct descent descent = {number, 5, -1};
    dive(&descent);
    say("deep", descent.reached);
}

/* For the part that measures nothing but whether it ends. */
static void act_verydeep(long number)
{
    struct descent descent = {number, 150, -1};
    dive(&descent);
    say("verydeep", descent.reached);
}

static __attribute__((noinline)) unsigned with_alloca(long kib)
{
    volatile char *room = alloca((size_t)kib << 10);
    for (long i = 0; i < kib << 10; i += 1024)
        room[i] = 1;
    unsigned sum = work(200);
    return sum + room[0];
}

static void act_alloca(long number)
{
    say("alloca", with_alloca(number));
}

static ucontext_t here, there;
static volatile long turns;

static void coroutine(void)
{
    for (;;) {
        work(50);
        turns++;
        swapcontext(&there, &here);
    }
}

/* A coroutine on a stack of so many KiB. */
static void act_swap(long number)
{
    size_t size = (size_t)number << 10;
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) {
        say("swap", -1);
        return;
    }
    turns = 0;
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = size;
    there.uc_link = &here;
    makecontext(&there, coroutine, 0);
    for (int i = 0; i < 200; i++)
        swapcontext(&here, &there);
    munmap(stack, size);
    say("swap", turns);
}

static sigjmp_buf back;

static void overflowed(int number)
{
    siglongjmp(back, number);
}

static __attribute__((noinline)) long overflow(long x)
{
    volatile char frame[4096];
    frame[x & 4095] = (char)x;
    return overflow(x + 1) + frame[1];
}

/* A program that survives the end of its stack, by a signal stack of its own of so many KiB. */
static void *guarded(void *argument)
{
    size_t size = (size_t)*(long *)argument << 10;
    stack_t own = {.ss_sp = malloc(size), .ss_size = size}, before;
    struct sigaction action = {.sa_handler = overflowed, .sa_flags = SA_ONSTACK};
    volatile int got = 0;
    sigaltstack(&own, &before);
    sigaction(SIGSEGV, &action, NULL);
    got = sigsetjmp(back, 1);
    if (got == 0)
        overflow(0);
    signal(SIGSEGV, SIG_DFL);
    say("guard", got);
    stack_t none = {.ss_flags = SS_DISABLE};
    say("altstack", sigaltstack(&none, NULL));
    free(own.ss_sp);
    return NULL;
}

static void act_guard(long number)
{
    guarded(&number);
}

static void act_guardt(long number)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, guarded, &number) == 0)
        pthread_join(thread, NULL);
}

static jmp_buf out;

static __attribute__((noinline)) void jump_out(long depth)
{
    volatile char frame[16];
    frame[0] = 1;
    if (depth <= 0)
        longjmp(out, 1);
    work(1);
    jump_out(depth - frame[0]);
}

static void act_longjmp(long number)
{
    volatile long jumps = 0;
    while (jumps < number)
        if (setjmp(out) == 0)
            jump_out(20 + jumps % 300);
        else
            jumps++;
    say("longjmp", jumps);
}

/* Ends the program. */
static void act_overflow(long number)
{
    say("overflow", overflow(number));
}

const struct action stack_actions[] = {{"deep", act_deep},       {"verydeep", act_verydeep}, {"alloca", act_alloca},
                                       {"swap", act_swap},       {"guard", act_guard},       {"guardt", act_guardt},
                                       {"longjmp", act_longjmp}, {"overflow", act_overflow}, {NULL, NULL}};

/* Ends of a program. */
#include "host.h"

static void act_exit(long number)
{
    exit((int)number);
}

static void act__exit(long number)
{
    _exit((int)number);
}

static void act_quick(long number)
{
    quick_exit((int)number);
}

static void act_group(long number)
{
    syscall(SYS_exit_group, number);
}

static void act_raw(long number)
{
    syscall(SYS_exit, number);
}

static void act_abort(long number)
{
    (void)number;
    abort();
}

static void act_raise(long number)
{
    raise((int)number);
}

static void act_segv(long number)
{
    *(volatile char *)number = 1;
}

static void act_illegal(long number)
{
    (void)number;
    __builtin_trap();
}

static void *exiting(void *number)
{
    exit((int)*(long *)number);
}

/* Several threads end the program at once, with one status. */
static void act_exits(long number)
{
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        if (pthread_create(&thread, NULL, exiting, &number) != 0)
            break;
    exit((int)number);
}

static void *last(void *unused)
{
    burn(10);
    say("last", work(200));
    return unused;
}

/* The first thread ends, and the others go on. */
static void act_texit(long number)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, last, NULL) != 0)
        _exit((int)number);
    pthread_exit(NULL);
}

static void at_exit(void)
{
    say("atexit", work(100));
}

static void act_atexit(long number)
{
    say("atexit", atexit(at_exit) + number);
    at_quick_exit(at_exit);
}

/* Threads that go on until the end, whatever it is. */
static void *busy(void *unused)
{
    for (;;)
        work(100);
    return unused;
}

static void act_busy(long number)
{
    pthread_t thread;
    for (long i = 0; i < number; i++)
        if (pthread_create(&thread, NULL, busy, NULL) != 0)
            break;
    say("busy", number);
}

const struct action end_actions[] = {{"exit", act_exit},   {"_exit", act__exit}, {"quick", act_quick},
                                     {"group", act_group}, {"raw", act_raw},     {"abort", act_abort},
                                     {"raise", act_raise}, {"segv", act_segv},   {"illegal", act_illegal},
                                     {"exits", act_exits}, {"texit", act_texit}, {"atexit", act_atexit},
                                     {"busy", act_busy},   {NULL, NULL}};

/* One way of ending per mode, with status argv[2]. 1000 calls of tick and 100 ms of CPU time come before each, and INTERVALS. */
#include "host.h"

static int status;

static void at_exit_one(void)
{
    puts("atexit one");
}

static void at_exit_two(void)
{
    puts("atexit two");
}

__attribute__((destructor)) static void last(void)
{
    puts("destructor");
}

static void *exits(void *unused)
{
    (void)unused;
    burn(20);
    exit(status);
}

static void *runs_on(void *unused)
{
    burn(120);
    work(500);
    puts("worker done");
    return unused;
}

static void *runs_for_ever(void *unused)
{
    for (;;)
        burn(10);
    return unused;
}

int main(int argc, char **argv)
{
    const char *mode = argv[1];
    pthread_t thread;
    status = argc > 2 ? atoi(argv[2]) : 0;
    atexit(at_exit_one);
    atexit(at_exit_two);
    work(1000);
    burn(100);
    burn_until_recorded();
    puts("main done");
    fflush(stdout);
    if (strcmp(mode, "exit") == 0)
        exit(status);
    if (strcmp(mode, "_exit") == 0)
        _exit(status);
    if (strcmp(mode, "_Exit") == 0)
        _Exit(status);
    if (strcmp(mode, "quick_exit") == 0)
        quick_exit(status);
    if (strcmp(mode, "abort") == 0)
        abort();
    if (strcmp(mode, "raise") == 0)
        raise(status);
    if (strcmp(mode, "thread-exit") == 0) {
        pthread_create(&thread, NULL, exits, NULL);
        pthread_join(thread, NULL);
    }
    if (strcmp(mode, "pthread_exit") == 0) {
        pthread_create(&thread, NULL, runs_on, NULL);
        pthread_create(&thread, NULL, runs_on, NULL);
        pthread_exit(NULL);
    }
    if (strcmp(mode, "busy") == 0)
        for (int i = 0; i < 4; i++)
            pthread_create(&thread, NULL, runs_for_ever, NULL);
    return status;
}

/* Forks at bad moments; a child that hangs is ended by its alarm, and a child that fails fails the program.
 *
 *     robust_forks starting N     N times: a child whose thread begins its first beat while the other thread forks
 *     robust_forks handler N      a signal handler that forks in the middle of beats, N times, and returns in the child
 *     robust_forks bare N         children made behind libc's back, while other threads hold locks */
#define _GNU_SOURCE
#include <appekg.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int over;
static volatile sig_atomic_t in_child, children;

static void some_beats(int count)
{
    for (int i = 0; i < count; i++) {
        EKG_SCOPE(1);
        EKG_SCOPE(2);
    }
}

static void *first_beat(void *unused)
{
    (void)unused;
    some_beats(3);
    return NULL;
}

static int wait_for(pid_t child)
{
    int status = 1;
    waitpid(child, &status, 0);
    if (status != 0)
        fprintf(stderr, "child ended with %#x\n", (unsigned int)status);
    return status != 0;
}

/* Forks once, after a pause that differs from time to time. */
static int fork_while_starting(int number)
{
    pthread_t thread;
    pthread_create(&thread, NULL, first_beat, NULL);
    for (volatile int spin = 0; spin < number * 40000; spin++)
        ;
    pid_t child = fork();
    if (child == 0) {
        alarm(200);
        if (number % 2 == 0)
            some_beats(3);
        exit(0);
    }
    pthread_join(thread, NULL);
    return wait_for(child);
}

static int starting(int times)
{
    int failures = 0;
    for (int i = 0; i < times; i++) {
        pid_t trial = fork(); /* before the first beat: nothing has started in it */
        if (trial == 0)
            exit(fork_while_starting(i));
        failures += wait_for(trial);
    }
    return failures;
}

static void fork_here(int number)
{
    (void)number;
    pid_t child = fork();
    if (child == 0) {
        alarm(200);
        in_child = 1;
    } else if (child > 0) {
        children++;
    }
}

static int forking_handler(int times)
{
    const struct itimerspec soon = {{0, 0}, {0, 300000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;
    int failures = 0;
    signal(SIGUSR1, fork_here);
    some_beats(1);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    for (int i = 0; i < times; i++) {
        int before = children;
        timer_settime(timer, 0, &soon, NULL);
        while (children == before && !in_child)
            some_beats(10);
        if (in_child) {
            some_beats(1000);
            exit(0);
        }
    }
    for (int i = 0; i < times; i++)
        failures += wait_for(-1);
    return failures;
}

static void *rename_all_the_time(void *unused)
{
    while (!atomic_load(&over))
        ekg_rate(1, 1);
    return unused;
}

static int bare(int times)
{
    pthread_t threads[3];
    int failures = 0;
    some_beats(1);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, rename_all_the_time, NULL);
    for (int i = 0; i < times; i++) {
        pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (child == 0) {
            alarm(200);
            ekg_rate(2, 1); /* takes the locks that another thread may have held */
            some_beats(10);
            ekg_finalize();
            _exit(0);
        }
        failures += wait_for(child);
    }
    atomic_store(&over, 1);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return failures;
}

int main(int count, char **arguments)
{
    int times = count > 2 ? atoi(arguments[2]) : 0;
    int failures = strcmp(arguments[1], "starting") == 0  ? starting(times)
                   : strcmp(arguments[1], "handler") == 0 ? forking_handler(times)
                                                          : bare(times);
    printf("failures %d\n", failures);
    return failures > 0;
}

/* Threads that beat until the process ends in one way or another; what they did stays in a file that outlives it.
 *
 *     robust_ends KIND FILE      KIND: wait (for a signal from outside), return, segv, abort, _exit, quick_exit, exec,
 *                                or handler: the main thread alone beats, until a handler in the middle of it exits
 *
 * All but the first come after the first interval in run/rank-00000.ekg. FILE: struct witness; after an exec,
 * FILE.second. A thread counts a beat as started before it begins, and as ended after its end has returned. */
#define _GNU_SOURCE
#include <appekg.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "robust_wait.h"

enum { THREADS = 3, SAMPLES = 1 << 15, BEFORE_THE_END_MS = 60, PERIOD_NS = 300000 };

struct witness {
    struct {
        atomic_ullong started, ended;
        char padding[112];
    } threads[THREADS + 1];
    atomic_ullong samples;
    struct {
        uint64_t ended, time_ns; /* so many had ended before that time (CLOCK_MONOTONIC) */
    } sample[SAMPLES];
};

static struct witness *witness;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void beat(uintptr_t number, uint32_t id)
{
    atomic_fetch_add_explicit(&witness->threads[number].started, 1, memory_order_relaxed);
    ekg_begin(id);
    ekg_end(id);
    atomic_fetch_add_explicit(&witness->threads[number].ended, 1, memory_order_release);
}

static void *work(void *argument)
{
    for (uint32_t turn = 0;; turn++)
        beat((uintptr_t)argument, turn % 5);
    return NULL;
}

/* Returns whether there was a beat. */
static int take_sample(void)
{
    const struct timespec pause = {0, PERIOD_NS};
    uint64_t number = witness->samples;
    uint64_t ended = 0;
    for (int i = 0; i <= THREADS; i++)
        ended += atomic_load_explicit(&witness->threads[i].ended, memory_order_acquire);
    if (number < SAMPLES) {
        witness->sample[number].ended = ended;
        witness->sample[number].time_ns = now_ns();
        atomic_store(&witness->samples, number + 1);
    }
    nanosleep(&pause, NULL);
    return ended > 0;
}

static struct witness *open_witness(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct witness)) != 0)
        exit(2);
    void *memory = mmap(NULL, sizeof(struct witness), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory != MAP_FAILED ? memory : NULL;
}

static void go_on_as_another(char **arguments)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.second", arguments[2]);
    execl("/proc/self/exe", arguments[0], "return", path, (char *)NULL);
}

static void end_the_process(const char *kind, char **arguments)
{
    if (strcmp(kind, "segv") == 0)
        *(volatile int *)8 = 1;
    if (strcmp(kind, "abort") == 0)
        abort();
    if (strcmp(kind, "_exit") == 0)
        _exit(5);
    if (strcmp(kind, "quick_exit") == 0)
        quick_exit(6);
    if (strcmp(kind, "exec") == 0)
        go_on_as_another(arguments);
}

static void leave(int number)
{
    (void)number;
    exit(0);
}

static void beat_until_a_handler_exits(void)
{
    const struct itimerval soon = {{0, 0}, {0, 20000}};
    signal(SIGALRM, leave);
    beat(0, 0); /* heartbeats have started: before that there is no file */
    setitimer(ITIMER_REAL, &soon, NULL);
    work((void *)0);
}

int main(int count, char **arguments)
{
    pthread_t thread;
    if (count != 3 || (witness = open_witness(arguments[2])) == NULL)
        return 2;
    signal(SIGINT, SIG_DFL); /* ignored where tests run in the background or under nohup */
    signal(SIGHUP, SIG_DFL);
    if (strcmp(arguments[1], "handler") == 0)
        beat_until_a_handler_exits();
    for (uintptr_t i = 1; i <= THREADS; i++)
        if (pthread_create(&thread, NULL, work, (void *)i) != 0)
            return 2;
    if (strcmp(arguments[1], "wait") != 0)
        wait_for_interval("run/rank-00000.ekg");
    const uint64_t end_ns = now_ns() + BEFORE_THE_END_MS * 1000000ull;
    int has_beaten = 0;
    while (strcmp(arguments[1], "wait") == 0 || now_ns() < end_ns || !has_beaten)
        has_beaten = take_sample();
    end_the_process(arguments[1], arguments);
    return 0;
}

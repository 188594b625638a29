/* Threads that count calls, put samples into their rings, come and go, while a collector drains and settles. Nothing is
 * lost on the way: each call and each sample is taken once. For ThreadSanitizer above all.
 * Arguments: threads at a time, generations of them. Prints what does not add up. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "interval.h"
#include "modules.h"
#include "sys.h"
#include "thread_life.h"

#define CALLS 20000
#define FUNCTIONS 1500 /* more than a first table holds */
#define MOST_THREADS 64

/* As the entry stubs call the collector: in the library. */
void count_call(uint64_t from, uint64_t self);

static struct interval interval;
static uint64_t calls_taken, samples_taken, lost, ticks_taken, wrong;
static int stop;

static void take(struct thread *thread)
{
    thread_life_ns(thread, monotonic_ns());
    interval_take_thread(&interval, thread);
    interval_take_calls(&interval, thread);
}

static void drain(void)
{
    interval_begin(&interval, 0, false);
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        if (!thread_is_settled(thread))
            take(thread);
    thread_settle(take);
    interval_sort(&interval);
    for (size_t i = 0; i < interval.calls.count; i++) {
        const struct call *call = (const struct call *)(interval.calls.records + i * sizeof *call);
        wrong += call->from != call->self + 1; /* in code that has not been looked up */
        calls_taken += call->count;
    }
    for (size_t i = 1; i < interval.sample_count; i++)
        wrong += interval.samples[i - 1].time_ns > interval.samples[i].time_ns;
    samples_taken += interval.totals.samples;
    ticks_taken += interval.totals.ticks;
    lost += interval.totals.lost;
}

static void *collect(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        drain();
    return unused;
}

static void *work(void *unused)
{
    struct thread *thread = thread_new();
    thread_start(thread, 0, 0, 1);
    for (uint64_t i = 0; i < CALLS; i++) {
        uint64_t self = 2 * (i % FUNCTIONS) + 1000;
        count_call(self + 1, self);
        if (i % 10 != 0)
            continue;
        struct sample sample = {.time_ns = i, .leaf_pc = self, .weight = 2, .kind = KIND_OWN};
        thread->path.frames = (int64_t)(i / 10 % 90);
        for (int64_t frame = 0; frame < thread->path.frames && frame < INNER_FRAMES; frame++)
            thread->path.inner[frame] = (uint64_t)(uintptr_t)&work + (uint64_t)frame;
        ring_put(thread, &sample);
    }
    thread_end(thread);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t collector, threads[MOST_THREADS];
    int count = atoi(argv[1]), generations = atoi(argv[argc - 1]);
    modules_scan();
    pthread_create(&collector, NULL, collect, NULL);
    for (int generation = 0; generation < generations; generation++) {
        for (int i = 0; i < count; i++)
            pthread_create(&threads[i], NULL, work, NULL);
        for (int i = 0; i < count; i++)
            pthread_join(threads[i], NULL);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(collector, NULL);
    drain();
    int left = 0;
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        left += !thread_is_settled(thread);
    uint64_t all = (uint64_t)count * (uint64_t)generations;
    bool is_exact = calls_taken == all * CALLS && samples_taken + lost == all * CALLS / 10;
    printf("wrong %lu exact %d double %d left %d\n", (unsigned long)wrong, is_exact, ticks_taken == 2 * samples_taken,
           left);
    return 0;
}

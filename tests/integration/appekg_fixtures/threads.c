/* Threads with heartbeats, one kind per word: threads WORD [NUMBER]
 *   short N    N threads, at most eight at a time, with ten beats of id 1 and one of an id of its own each
 *   alive N    N threads that are all there when they beat
 *   race N     one thread begins N beats of id 1, another one ends N, each as fast as it can
 *   cross N    four threads begin and end N beats of id 1 each: every second end is another thread's to make
 *   queue N    one thread begins N beats of id 1 and hands them to another one, which ends them
 *   leave      a thread ends with two open beats of id 1
 *   main       the main thread ends with beats of its own, another one beats after that */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "appekg.h"

static int number;
static sem_t items;
static pthread_barrier_t barrier;

static void beat(uint32_t id, int times)
{
    for (int i = 0; i < times; i++) {
        ekg_begin(id);
        ekg_end(id);
    }
}

static void start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    if (pthread_create(thread, &small, run, argument) != 0)
        abort();
}

static void *short_life(void *own_id)
{
    beat(1, 10);
    beat((uint32_t)(uintptr_t)own_id, 1);
    return NULL;
}

static void many_short(void)
{
    pthread_t thread[8];
    for (int i = 0; i < number; i++) {
        if (i >= 8)
            pthread_join(thread[i % 8], NULL);
        start(&thread[i % 8], short_life, (void *)(uintptr_t)(100 + i));
    }
    for (int i = number < 8 ? 0 : number - 8; i < number; i++)
        pthread_join(thread[i % 8], NULL);
}

static void *meet(void *own_id)
{
    beat(1, 5);
    pthread_barrier_wait(&barrier);
    return short_life(own_id);
}

static void many_alive(void)
{
    pthread_t *thread = calloc((size_t)number, sizeof *thread);
    pthread_barrier_init(&barrier, NULL, (unsigned int)number);
    for (int i = 0; i < number; i++)
        start(&thread[i], meet, (void *)(uintptr_t)(100 + i));
    for (int i = 0; i < number; i++)
        pthread_join(thread[i], NULL);
}

static void *end_all(void *unused)
{
    for (int i = 0; i < number; i++)
        ekg_end(1);
    return unused;
}

static void race(void)
{
    pthread_t thread;
    ekg_init(NULL);
    start(&thread, end_all, NULL);
    for (int i = 0; i < number; i++)
        ekg_begin(1);
    pthread_join(thread, NULL);
}

static atomic_int owed;

static void *begin_and_end(void *unused)
{
    for (int i = 0; i < number; i++) {
        ekg_begin(1);
        if (i % 2 == 0)
            ekg_end(1);
        else
            atomic_fetch_add(&owed, 1);
    }
    return unused;
}

static void *end_owed(void *over)
{
    while (!atomic_load((atomic_int *)over) || atomic_load(&owed) > 0) {
        if (atomic_load(&owed) <= 0)
            continue;
        ekg_end(1);
        atomic_fetch_sub(&owed, 1);
    }
    return NULL;
}

static void cross(void)
{
    pthread_t thread[4], ender;
    atomic_int over = 0;
    start(&ender, end_owed, &over);
    for (int i = 0; i < 4; i++)
        start(&thread[i], begin_and_end, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    atomic_store(&over, 1);
    pthread_join(ender, NULL);
}

static void *work_off(void *unused)
{
    for (int i = 0; i < number; i++) {
        sem_wait(&items);
        ekg_end(1);
    }
    return unused;
}

static void queue(void)
{
    pthread_t thread;
    sem_init(&items, 0, 0);
    start(&thread, work_off, NULL);
    for (int i = 0; i < number; i++) {
        ekg_begin(1);
        sem_post(&items);
    }
    pthread_join(thread, NULL);
}

static void *leave_open(void *unused)
{
    beat(1, 3);
    ekg_begin(1);
    ekg_begin(1);
    return unused;
}

static void leave(void)
{
    pthread_t thread;
    start(&thread, leave_open, NULL);
    pthread_join(thread, NULL);
    beat(1, 1);
}

static void *outlive_main(void *main_thread)
{
    pthread_join(*(pthread_t *)main_thread, NULL);
    beat(1, 7);
    return NULL;
}

static void end_main(void)
{
    static pthread_t self;
    pthread_t thread;
    self = pthread_self();
    beat(1, 5);
    start(&thread, outlive_main, &self);
    pthread_exit(NULL);
}

static const struct word {
    const char *word;
    void (*run)(void);
} words[] = {{"short", many_short}, {"alive", many_alive}, {"race", race},    {"cross", cross},
             {"queue", queue},      {"leave", leave},      {"main", end_main}};

int main(int argc, char **argv)
{
    number = argc > 2 ? atoi(argv[2]) : 0;
    for (size_t i = 0; argc > 1 && i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].word, argv[1]) != 0)
            continue;
        words[i].run();
        return 0;
    }
    return 2;
}

/* A library with a thread of its own that has regions, which its destructor waits for: within dlclose. */
#include <pthread.h>
#include <stdio.h>

static pthread_t thread;
static int has_begun, ends;
static long sum;

static void region(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 1000; i++)
        __atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED);
}

/* As many regions after the destructor has begun as before. */
static void *work(void *unused)
{
    (void)unused;
    region();
    __atomic_store_n(&has_begun, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&ends, __ATOMIC_ACQUIRE))
        ;
    region();
    return NULL;
}

long team_sum(int iterations)
{
    pthread_create(&thread, NULL, work, NULL);
    while (!__atomic_load_n(&has_begun, __ATOMIC_ACQUIRE))
        ;
    return 1000 * iterations;
}

static __attribute__((destructor)) void at_close(void)
{
    __atomic_store_n(&ends, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    printf("joined %ld\n", sum);
}

/* Threads: many, short, small, cancelled, detached, and with destructors. */
#include "host.h"

#include <limits.h>
#include <semaphore.h>

#define MOST 256
#define CALLS 500

static void *counted(void *sum)
{
    __atomic_fetch_add((unsigned *)sum, work(CALLS), __ATOMIC_RELAXED);
    return NULL;
}

/* So many threads at once, or as many as there may be: what each does is the same, so the sum is. */
static void act_threads(long number)
{
    pthread_t threads[MOST];
    unsigned sum = 0;
    long made = 0;
    while (made < number && made < MOST && pthread_create(&threads[made], NULL, counted, &sum) == 0)
        made++;
    for (long i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
    say("threads", made);
    say("sum", (long)sum);
}

static sem_t may_end;

static void *one_of_many(void *sum)
{
    __atomic_fetch_add((unsigned *)sum, work(5), __ATOMIC_RELAXED);
    while (sem_wait(&may_end) != 0)
        continue;
    return NULL;
}

/* Thousands that are there at the same time. */
static void act_crowd(long number)
{
    pthread_t *threads = calloc((size_t)number, sizeof *threads);
    pthread_attr_t attributes;
    unsigned sum = 0;
    long made = 0;
    sem_init(&may_end, 0, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    while (threads != NULL && made < number && pthread_create(&threads[made], &attributes, one_of_many, &sum) == 0)
        made++;
    burn(5);
    for (long i = 0; i < made; i++)
        sem_post(&may_end);
    for (long i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    say("crowd", made);
    say("sum", (long)sum);
}

static void *churner(void *argument)
{
    long *left = argument;
    unsigned sum = 0;
    for (pthread_t thread; *left > 0; --*left)
        if (pthread_create(&thread, NULL, counted, &sum) != 0 || pthread_join(thread, NULL) != 0)
            break;
    return NULL;
}

static void act_churn(long number)
{
    long left[2] = {number, number};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, churner, &left[i]) != 0)
            threads[i] = pthread_self();
    for (int i = 0; i < 2; i++)
        if (!pthread_equal(threads[i], pthread_self()))
            pthread_join(threads[i], NULL);
    say("churn", left[0] + left[1]);
}

static void *detached(void *done)
{
    work(CALLS);
    sem_post(done);
    return NULL;
}

static void act_detach(long number)
{
    static sem_t done;
    sem_init(&done, 0, 0);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    long made = 0;
    pthread_t thread;
    while (made < number && pthread_create(&thread, &attributes, detached, &done) == 0)
        made++;
    for (long i = 0; i < made; i++)
        while (sem_wait(&done) != 0)
            continue;
    say("detach", made);
}

static void *small(void *sum)
{
    return counted(sum);
}

/* The smallest stack that threads may have. */
static void act_small(long number)
{
    pthread_attr_t attributes;
    pthread_t thread;
    unsigned sum = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN + (size_t)(number << 10));
    int error = pthread_create(&thread, &attributes, small, &sum);
    if (error == 0)
        pthread_join(thread, NULL);
    say("small", error);
    say("sum", (long)sum);
}

static void *cancelled(void *asynchronous)
{
    if (asynchronous != NULL)
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (volatile long i = 0;; i++)
        if (asynchronous == NULL) {
            work(10);
            pthread_testcancel();
        }
    return NULL;
}

static void cancel_some(long number, void *asynchronous)
{
    long ended = 0;
    for (long i = 0; i < number; i++) {
        pthread_t thread;
        void *result = NULL;
        if (pthread_create(&thread, NULL, cancelled, asynchronous) != 0)
            break;
        burn(1);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        ended += result == PTHREAD_CANCELED;
    }
    say("cancel", ended);
}

static void act_cancel(long number)
{
    cancel_some(number, NULL);
}

static void act_acancel(long number)
{
    cancel_some(number, &number);
}

static void destructor(void *sum)
{
    __atomic_fetch_add((unsigned *)sum, work(10), __ATOMIC_RELAXED);
}

struct keys {
    pthread_key_t key[8];
    unsigned sum;
};

static void *with_keys(void *argument)
{
    struct keys *keys = argument;
    for (int i = 0; i < 8; i++)
        pthread_setspecific(keys->key[i], &keys->sum);
    return counted(&keys->sum);
}

/* Destructors call functions after the library's own may have run. */
static void act_keys(long number)
{
    struct keys keys = {.sum = 0};
    for (int i = 0; i < 8; i++)
        pthread_key_create(&keys.key[i], destructor);
    for (long i = 0; i < number; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, with_keys, &keys) == 0)
            pthread_join(thread, NULL);
    }
    for (int i = 0; i < 8; i++)
        pthread_key_delete(keys.key[i]);
    say("keys", (long)keys.sum);
}

const struct action thread_actions[] = {{"threads", act_threads}, {"crowd", act_crowd}, {"churn", act_churn},
                                        {"detach", act_detach},   {"small", act_small}, {"cancel", act_cancel},
                                        {"acancel", act_acancel}, {"keys", act_keys},   {NULL, NULL}};

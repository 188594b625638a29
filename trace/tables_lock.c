/* Thread safety: `shared` is set once, by MPI_Init_thread, before another thread calls MPI. */
#define _GNU_SOURCE
#include "coding.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool shared;

void tables_share(void)
{
    shared = true;
}

void tables_lock(void)
{
    if (shared)
        pthread_mutex_lock(&mutex);
}

void tables_unlock(void)
{
    if (shared)
        pthread_mutex_unlock(&mutex);
}

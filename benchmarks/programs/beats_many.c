/* Threads that beat many ids, a little at a time, for some seconds.
 *
 *     beats_many THREADS IDS SECONDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <appekg.h>

#define MOST_THREADS 1024

static uint32_t ids;
static time_t until;

static void *beat(void *unused)
{
    struct timespec now, pause = {.tv_nsec = 500000};
    do {
        for (uint32_t id = 1; id <= ids; id++) {
            ekg_begin(id);
            ekg_end(id);
        }
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < until);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST_THREADS];
    struct timespec now;
    int count = argc == 4 ? atoi(argv[1]) : 0;
    if (count < 1 || count > MOST_THREADS)
        return 2;
    ids = (uint32_t)atoi(argv[2]);
    clock_gettime(CLOCK_MONOTONIC, &now);
    until = now.tv_sec + atoi(argv[3]);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, beat, NULL);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

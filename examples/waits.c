/* Four phases that wait: for a lock, for a message, for time to pass, for the disk.
 *
 *     gcc -O2 -g -pthread waits.c -o waits
 *     incprof record -- ./waits
 *     incprof phases gmon-waits --card
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 40, BLOCK = 1 << 20 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_done;
static int ends[2];
static volatile double sum;

static void compute(double seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double end = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec + seconds;
    while ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec < end) {
        for (int i = 0; i < 1000; i++)
            sum += i;
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
}

static void *update(void *unused)
{
    while (!atomic_load(&is_done)) {
        pthread_mutex_lock(&mutex);
        usleep(40000); /* with the lock held */
        pthread_mutex_unlock(&mutex);
        usleep(1000);
    }
    return unused;
}

static void *answer(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        usleep(50000);
        if (write(ends[1], "x", 1) != 1)
            break;
    }
    return unused;
}

static void exchange(void)
{
    pthread_t other;
    pthread_create(&other, NULL, update, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        compute(.005);
        pthread_mutex_unlock(&mutex);
        compute(.002);
    }
    atomic_store(&is_done, true);
    pthread_join(other, NULL);
}

static void receive(void)
{
    pthread_t other;
    char message;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return;
    pthread_create(&other, NULL, answer, NULL);
    for (int i = 0; i < ROUNDS && read(ends[0], &message, 1) == 1; i++)
        compute(.005);
    pthread_join(other, NULL);
}

static void poll_queue(void)
{
    for (int i = 0; i < 2 * ROUNDS; i++) {
        usleep(18000);
        compute(.004);
    }
}

static void save(const char *name)
{
    FILE *file = fopen(name, "w");
    char *block = calloc(1, BLOCK);
    for (int i = 0; file != NULL && block != NULL && i < 3 * ROUNDS; i++) {
        fwrite(block, 1, BLOCK, file);
        fflush(file);
        fsync(fileno(file));
        compute(.004);
    }
    if (file != NULL)
        fclose(file);
    free(block);
    remove(name);
}

int main(void)
{
    exchange();
    receive();
    poll_queue();
    save("waits.out");
    return 0;
}

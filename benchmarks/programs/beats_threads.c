/* What a pair costs a thread that is alone, and one of several that beat at the same time.
 *
 *     beats_threads THREADS ROUNDS
 *
 * Prints per round: two reads of the counter and a pair, in nanoseconds of the thread's CPU time, alone and then among
 * the others. The counter is read by the same threads in turn with the pairs: what the machine does to busy processors
 * (shared cores, clock rates) it does to both.
 */
#include <pthread.h>
#include <stdio.h>

#include "beats.h"

#define MOST_THREADS 64
#define TURNS 5

BATCH_OF(two_reads, read_counter(); read_counter())
BATCH_OF(pairs, ekg_begin(1); ekg_end(1))

struct costs {
    double reads[TURNS], pairs[TURNS];
};

static pthread_barrier_t barrier;
static struct costs crowd[MOST_THREADS];
static int rounds;

static void measure(struct costs *costs)
{
    pairs();
    for (int turn = 0; turn < TURNS; turn++) {
        costs->reads[turn] = time_batch(two_reads);
        costs->pairs[turn] = time_batch(pairs);
    }
}

static void *help(void *costs)
{
    for (int round = 0; round < rounds; round++) {
        pthread_barrier_wait(&barrier);
        measure(costs);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void print(double *reads, double *beats, int count, const char *end)
{
    printf("%.4f %.4f%s", median(reads, count), median(beats, count), end);
}

static void lead(int threads)
{
    static double reads[MOST_THREADS * TURNS], beats[MOST_THREADS * TURNS];
    struct costs alone;
    for (int round = 0; round < rounds; round++) {
        measure(&alone);
        print(alone.reads, alone.pairs, TURNS, " ");
        pthread_barrier_wait(&barrier);
        measure(&crowd[0]);
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < threads * TURNS; i++) {
            reads[i] = crowd[i / TURNS].reads[i % TURNS];
            beats[i] = crowd[i / TURNS].pairs[i % TURNS];
        }
        print(reads, beats, threads * TURNS, "\n");
    }
}

int main(int argc, char **argv)
{
    pthread_t helpers[MOST_THREADS];
    int threads = argc == 3 ? atoi(argv[1]) : 0;
    if (threads < 1 || threads > MOST_THREADS)
        return 2;
    rounds = atoi(argv[2]);
    pthread_barrier_init(&barrier, NULL, (unsigned int)threads);
    for (int i = 1; i < threads; i++)
        pthread_create(&helpers[i], NULL, help, &crowd[i]);
    lead(threads);
    for (int i = 1; i < threads; i++)
        pthread_join(helpers[i], NULL);
    return 0;
}

/* Asks what a heartbeat costs before the first beat, in several threads that begin to beat at the same time, after it
 * and in a child. Prints `WHEN STATUS PAIR_NS SKIPPED_NS`.
 *
 *     cost early|late DIRECTORY [alone]     without a child */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "appekg.h"

#define THREADS 4
#define BEATS 1000

static void ask(const char *when)
{
    double pair_ns = 0, skipped_ns = 0;
    int status = ekg_cost(&pair_ns, &skipped_ns);
    printf("%s %d %.3f %.3f\n", when, status, pair_ns, skipped_ns);
    fflush(stdout);
}

static void beat(void)
{
    for (int i = 0; i < BEATS; i++) {
        EKG_SCOPE(1);
        EKG_SCOPE(1);
    }
}

static void *ask_and_beat(void *unused)
{
    double pair_ns, skipped_ns;
    beat();
    ekg_cost(&pair_ns, &skipped_ns);
    beat();
    return unused;
}

static void together(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, ask_and_beat, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "early") == 0)
        ask("before");
    printf("exists %d\n", access(argc > 2 ? argv[2] : "", F_OK) == 0);
    fflush(stdout);
    together();
    ask("after");
    if (argc <= 3 && fork() == 0) {
        ask("child");
        beat();
        return 0;
    }
    wait(NULL);
    return 0;
}

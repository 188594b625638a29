/* Four threads beat 200 times each; then a child of fork does, in the thread that it has; the first thread ends by
 * pthread_exit, as the last one. `anywhere return`: it returns from main. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "appekg.h"

#define THREADS 3

static volatile double sum;

static void *beat(void *unused)
{
    for (int i = 0; i < 200; i++) {
        ekg_begin(1);
        for (int j = 0; j < 2000; j++)
            sum += j;
        ekg_end(1);
        ekg_pulse(2);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    ekg_name(1, "step");
    ekg_name(2, "tick");
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, beat, NULL);
    beat(NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pid_t child = fork();
    if (child == 0) {
        beat(NULL);
        exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    puts(status == 0 ? "done" : "lost");
    fflush(stdout);
    if (argc > 1 && argv[1][0] == 'r')
        return 0;
    pthread_exit(NULL);
}

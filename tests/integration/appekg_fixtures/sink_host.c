/* A program with heartbeats: sink_host TENTHS [END]. Per tenth of a second two threads have 100 beats of id 1 each, one
 * pulse of id 3, and a beat of id 2 that lasts as long. It ends with status 7. END is what comes before that:
 *   stay    a beat of id 4 begins, "stays" is printed, and the end of stdin is waited for
 *   thread  the main thread ends before the other one (status 0)
 *   fork    a child has as many beats
 *   family  a child has as many beats; both wait for the end of stdin
 *   setuid  all threads must agree to change the user */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "appekg.h"

static int tenths;

static void *work(void *unused)
{
    for (int i = 0; i < tenths; i++) {
        for (int j = 0; j < 100; j++) {
            ekg_begin(1);
            ekg_end(1);
        }
        ekg_pulse(3);
        ekg_begin(2);
        nanosleep(&(struct timespec){0, 100000000}, NULL);
        ekg_end(2);
    }
    return unused;
}

static int stay(void)
{
    ekg_begin(4);
    puts("stays");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 7;
}

static int beat_in_a_child(int stays)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        work(NULL);
        while (stays && getchar() != EOF)
            ;
        exit(3);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 3 ? 7 : 1;
}

int main(int argc, char **argv)
{
    const char *end = argc > 2 ? argv[2] : "";
    pthread_t other;
    tenths = atoi(argv[1]);
    ekg_name(1, "assemble \"A\\B\"\nC");
    ekg_name(2, "solve\xff");
    ekg_init(NULL);
    printf("begins\n");
    pthread_create(&other, NULL, work, NULL);
    if (strcmp(end, "thread") == 0) {
        pthread_detach(other);
        pthread_exit(NULL);
    }
    work(NULL);
    pthread_join(other, NULL);
    if (strcmp(end, "stay") == 0)
        return stay();
    if (strcmp(end, "fork") == 0 || strcmp(end, "family") == 0)
        return beat_in_a_child(strcmp(end, "family") == 0);
    return strcmp(end, "setuid") == 0 && setuid(getuid()) != 0 ? 1 : 7;
}

/* Many ids in one thread.
 *
 *     ids beyond FILL    beats of FILL ids, and then 2000 times in beyond() of others
 *     ids locked         bytes that the first beat of a thread adds to the memory of a program that locks all of its own */
#define _GNU_SOURCE
#include <appekg.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BEYOND = 1000000, SOME = 200, TURNS = 10 };

__attribute__((noinline)) void beyond(uint32_t turns)
{
    for (uint32_t turn = 0; turn < turns; turn++)
        for (uint32_t id = BEYOND; id < BEYOND + SOME; id++) {
            ekg_begin(id);
            ekg_end(id);
        }
}

static long resident_bytes(void)
{
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &size, &resident) != 2 || fclose(file) != 0)
        exit(2);
    return resident * sysconf(_SC_PAGESIZE);
}

static void *first_beat(void *unused)
{
    long before = resident_bytes();
    ekg_begin(1);
    ekg_end(1);
    printf("added %ld\n", resident_bytes() - before);
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    if (count > 2 && strcmp(arguments[1], "beyond") == 0) {
        for (uint32_t id = 0; id < (uint32_t)atoi(arguments[2]); id++)
            ekg_pulse(id);
        beyond(TURNS);
        return 0;
    }
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        return 77;
    ekg_pulse(2);
    if (pthread_create(&thread, NULL, first_beat, NULL) != 0)
        return 77;
    return pthread_join(thread, NULL);
}

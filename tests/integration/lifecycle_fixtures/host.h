/* Shared by the host programs. tick() is called a known number of times by work(); burn() takes a known CPU time of the
 * calling thread and calls nothing that is counted but itself. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline, unused)) void tick(void)
{
    sink++;
}

__attribute__((noinline, unused)) void work(int times)
{
    for (int i = 0; i < times; i++)
        tick();
}

__attribute__((no_instrument_function, unused)) static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Reads the clock seldom: beside other busy programs, the kernel preempts a thread that reads it, so that it
 * would never run when the next timer tick comes, which is when expired timers are seen. A tenth of it, where no one
 * records: what the program prints is the same. */
__attribute__((noinline, unused)) void burn(int milliseconds)
{
    double seconds = milliseconds / (getenv("ALONE") != NULL ? 1e4 : 1e3);
    double start = cpu_s(), now = start, end = start + seconds, done = 0;
    for (double rounds = 20; now < end; rounds = 1 + 0.9 * (end - now) * done / (now - start)) {
        for (double i = 0; i < 1000 * rounds; i++)
            sink += (unsigned long)i;
        done += rounds;
        now = cpu_s();
    }
}

/* How many intervals are in a stream: images of kind 2, each behind a header of 20 bytes. */
__attribute__((no_instrument_function, unused)) static int intervals_in(const char *path)
{
    unsigned char head[20];
    unsigned int length;
    int count = 0;
    FILE *file = fopen(path, "rb");
    while (file != NULL && fread(head, sizeof head, 1, file) == 1) {
        memcpy(&length, head + 12, sizeof length);
        count += head[8] == 2 && fseek(file, (long)length - 1, SEEK_CUR) == 0 && fgetc(file) != EOF;
        if (head[8] != 2 && fseek(file, (long)length, SEEK_CUR) != 0)
            break;
    }
    if (file != NULL)
        fclose(file);
    return count;
}

/* Burns on until INTERVALS, if that is set, are in the stream: on a busy machine, they are written late. */
__attribute__((unused)) static void burn_until_recorded(void)
{
    char path[4096];
    const char *wanted = getenv("INTERVALS"), *directory = getenv("INCPROF_DIR");
    if (wanted == NULL || directory == NULL)
        return;
    snprintf(path, sizeof path, "%s/rank-00000.gmon", directory);
    for (int i = 0; i < 12000 && intervals_in(path) < atoi(wanted); i++)
        burn(5);
}

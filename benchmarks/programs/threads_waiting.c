/* Threads that wait for a millisecond or two, by turns with a little work: `THREADS SECONDS`. At the end, prints the
 * CPU seconds of the threads that are not the program's own: the recorder's. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double until_s;
static volatile double sink;

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec * 1e-9;
}

static void *work(void *number)
{
    while (now() < until_s) {
        for (int i = 0; i < 2000; i++)
            sink += i;
        usleep(1000 + (useconds_t)(size_t)number % 1000);
    }
    return NULL;
}

/* Return the CPU seconds of all threads but the first. */
static double others(void)
{
    double sum_s = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        char path[300];
        unsigned long long cpu_ns = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
        FILE *file = atoi(task->d_name) != 0 && atoi(task->d_name) != getpid() ? fopen(path, "r") : NULL;
        if (file == NULL)
            continue;
        if (fscanf(file, "%llu", &cpu_ns) == 1)
            sum_s += cpu_ns * 1e-9;
        fclose(file);
    }
    return sum_s;
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[1]) : 4;
    pthread_t *threads = malloc((size_t)count * sizeof *threads);
    until_s = now() + (argc > 2 ? atof(argv[2]) : 10);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(size_t)i) != 0)
            return 1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    usleep(20000); /* until they have left the list of tasks */
    printf("%.6f\n", others());
    return 0;
}

/* Things that programs do around their parallel regions. argv[1]: which, argv[2]: iterations. */
#include <dirent.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int data[64];
static int iterations;

static void one(void)
{
#pragma omp parallel
    data[omp_get_thread_num()]++;
}

static void two(void)
{
#pragma omp parallel num_threads(3)
    data[omp_get_thread_num()]++;
}

static void *loop(void *unused)
{
    (void)unused;
    for (int i = 0; i < iterations; i++) {
        one();
        two();
    }
    return NULL;
}

/* Regions within regions, on every thread of the team. */
static void nested(void)
{
    omp_set_max_active_levels(2);
    for (int i = 0; i < iterations; i++) {
        int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
        {
            int own = 0;
#pragma omp parallel num_threads(2) reduction(+ : own)
            own += 1;
            sum += own;
        }
        if (sum != 4)
            abort();
        two();
    }
}

/* The second thread begins after the first one has had its first region, and ends before it. */
static void together(void)
{
    pthread_t other;
    one();
    pthread_create(&other, NULL, loop, NULL);
    pthread_join(other, NULL);
    loop(NULL);
}

static void after_each_other(void)
{
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, loop, NULL);
        pthread_join(thread, NULL);
    }
}

static void forked(void)
{
    int status = 1;
    pid_t child = fork(); /* before any region: the run-time's threads would not be in the child */
    loop(NULL);
    if (child == 0)
        _exit(0);
    if (waitpid(child, &status, 0) != child || status != 0)
        abort();
}

static void quit_within(void)
{
    loop(NULL);
#pragma omp parallel
    {
#pragma omp master
        {
            printf("iterations %d\n", iterations);
            fflush(stdout);
            exit(3);
        }
    }
}

/* How often the thread that writes the state has gone to sleep: once for each time. -1: there is none. */
static long states(void)
{
    long found = -1;
    char path[300], line[200];
    const struct dirent *entry;
    DIR *directory = opendir("/proc/self/task");
    while (directory != NULL && found < 0 && (entry = readdir(directory)) != NULL) {
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *file = entry->d_name[0] != '.' ? fopen(path, "r") : NULL;
        if (file != NULL && fgets(line, sizeof line, file) != NULL && strncmp(line, "Name:\tselfanalyze", 17) == 0)
            while (fgets(line, sizeof line, file) != NULL)
                sscanf(line, "voluntary_ctxt_switches: %ld", &found);
        if (file != NULL)
            fclose(file);
    }
    if (directory != NULL)
        closedir(directory);
    return found;
}

int main(int count, char **words)
{
    const char *way = words[1];
    iterations = count > 2 ? atoi(words[2]) : 0;
    if (strcmp(way, "nested") == 0)
        nested();
    else if (strcmp(way, "together") == 0)
        together();
    else if (strcmp(way, "threads") == 0)
        after_each_other();
    else if (strcmp(way, "forked") == 0)
        forked();
    else if (strcmp(way, "exit") == 0)
        quit_within();
    else if (strcmp(way, "none") != 0)
        loop(NULL);
    printf("iterations %d\n", iterations);
    fflush(stdout);
    if (strcmp(way, "exec") == 0)
        execl(words[0], words[0], "plain", words[2], (char *)NULL);
    if (strcmp(way, "killed") == 0) {
        for (long i = 0, enough = states() + 9; i < 60000 && enough > 8 && states() < enough; i++)
            usleep(1000);
        raise(9);
    }
    if (strcmp(way, "waits") == 0)
        pause();
    if (strcmp(way, "_exit") == 0)
        _exit(5);
    if (strcmp(way, "_Exit") == 0)
        _Exit(6);
    return 0;
}

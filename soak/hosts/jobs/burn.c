/* burn MS END [WORDS]: uses so many milliseconds of CPU time, in threads too where there are many, and ends as END
 * says; WORDS are a program that it starts as its last act, or becomes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sink;

__attribute__((noinline)) static void turn(void)
{
    for (int i = 0; i < 1000; i++)
        sink = sink * 1664525u + 1013904223u;
}

/* The thread's clock also has what it did before it became this program. */
static long spent(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void burn(long milliseconds)
{
    long end = spent() + milliseconds;
    while (spent() < end)
        turn();
}

static void *burn_half(void *milliseconds)
{
    burn(*(long *)milliseconds / 2);
    return NULL;
}

static void burn_in_threads(long milliseconds)
{
    pthread_t other;
    pthread_create(&other, NULL, burn_half, &milliseconds);
    burn_half(&milliseconds);
    pthread_join(other, NULL);
}

/* The words' process has no parent but init. */
static void leave_daemon(char **words)
{
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0)
            execv(words[0], words);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void start_and_stop(char **words)
{
    pid_t child = fork();
    if (child == 0) {
        raise(SIGSTOP);
        execv(words[0], words);
        _exit(127);
    }
    waitpid(child, NULL, WUNTRACED);
    usleep(20000);
    kill(child, SIGCONT);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    long milliseconds = atol(argv[1]);
    const char *end = argv[2];
    char **words = argv + 3;
    if (strcmp(end, "threads") == 0)
        burn_in_threads(milliseconds);
    else
        burn(milliseconds);
    if (strcmp(end, "_exit") == 0)
        _exit(3);
    if (strcmp(end, "quick") == 0)
        quick_exit(3);
    if (strcmp(end, "abort") == 0)
        abort();
    if (strcmp(end, "term") == 0)
        raise(SIGTERM);
    if (strcmp(end, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(end, "exec") == 0)
        execv(words[0], words);
    if (strcmp(end, "daemon") == 0)
        leave_daemon(words);
    if (strcmp(end, "stop") == 0)
        start_and_stop(words);
    return 0;
}

/* Processes with heartbeats, one kind per word: forks WORD
 *   threads   four threads beat id 1; meanwhile the main one makes 20 children, with ten beats of id 2 each. Prints
 *             "beats" and how many the threads had
 *   vfork     a beat of id 1; a child by vfork that runs this program with `one`; a beat of id 1
 *   exec      a beat of id 1 and, when its interval is in the file, this program with `one` in the same process
 *   spawn     a beat of id 1 and a child by posix_spawn with `one`
 *   shell     system("true") and popen between beats of id 1
 *   behind    a child made without libc's fork: both beat id 1, and exit
 *   handler   a child that is made in a signal handler, again and again, while the main program beats id 1: five beats
 * of id 2 each. Prints "beats" one       one beat of id 3 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "appekg.h"
#include "robust_wait.h"

#define CHILDREN 20

static char *self;
static atomic_int over;
static volatile sig_atomic_t made;

static void beat(uint32_t id, int times)
{
    for (int i = 0; i < times; i++) {
        ekg_begin(id);
        ekg_end(id);
    }
}

static void wait_for(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        abort();
}

static void *beat_on(void *count)
{
    while (!atomic_load(&over)) {
        beat(1, 1);
        ++*(long *)count;
    }
    return NULL;
}

static void threads(void)
{
    pthread_t thread[4];
    long counts[4] = {0}, sum = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, beat_on, &counts[i]);
    beat(1, 1);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) {
            beat(2, 10);
            exit(0);
        }
        wait_for(child);
    }
    atomic_store(&over, 1);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        sum += counts[i];
    }
    printf("beats %ld\n", sum + 1);
}

static void by_vfork(void)
{
    beat(1, 1);
    pid_t child = vfork();
    if (child == 0) {
        execl(self, self, "one", (char *)NULL);
        _exit(1);
    }
    wait_for(child);
    beat(1, 1);
}

static void by_exec(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/rank-00000.ekg", getenv("EKG_DIR"));
    beat(1, 1);
    wait_for_beats(path);
    execl(self, self, "one", (char *)NULL);
    abort();
}

static void by_spawn(void)
{
    extern char **environ;
    char *words[] = {self, "one", NULL};
    pid_t child = -1;
    beat(1, 1);
    if (posix_spawn(&child, self, NULL, NULL, words, environ) != 0)
        abort();
    wait_for(child);
}

static void by_shell(void)
{
    beat(1, 1);
    if (system("true") != 0)
        abort();
    beat(1, 1);
    FILE *pipe = popen("true", "r");
    beat(1, 1);
    if (pipe == NULL || pclose(pipe) != 0)
        abort();
}

static void behind(void)
{
    beat(1, 5);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        beat(1, 5);
        exit(0);
    }
    wait_for(child);
    beat(1, 5);
}

static void make_child(int signal)
{
    (void)signal;
    pid_t child = fork();
    if (child == 0) {
        beat(2, 5);
        _exit(0);
    }
    wait_for(child);
    made++;
}

static void by_handler(void)
{
    long count = 0;
    signal(SIGALRM, make_child);
    beat(2, 1);
    ualarm(2000, 2000);
    for (; made < CHILDREN; count++)
        beat(1, 1);
    ualarm(0, 0);
    printf("beats %ld\n", count);
}

static void one(void)
{
    beat(3, 1);
}

static const struct word {
    const char *word;
    void (*run)(void);
} words[] = {{"threads", threads}, {"vfork", by_vfork}, {"exec", by_exec},       {"spawn", by_spawn},
             {"shell", by_shell},  {"behind", behind},  {"handler", by_handler}, {"one", one}};

int main(int argc, char **argv)
{
    self = argv[0];
    for (size_t i = 0; argc == 2 && i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].word, argv[1]) != 0)
            continue;
        words[i].run();
        return 0;
    }
    return 2;
}

/* Runs a program and stops the thread that writes, as a file system that does not answer would: the interval thread of
 * heartbeats, or with HOLD=incprof-write that of a recording, HOLD=incprof-trace a trace, HOLD=selfanalyze an analysis.
 *
 *     robust_hold MILLISECONDS PROGRAM ARGUMENTS...
 *
 * The thread stands still for that time; 0: until the program ends. Ends as the program does.
 *
 * HOLD_FILES=PREFIX: the program and this one wait for each other by files. Nothing happens before the program has made
 * PREFIX.ready; PREFIX.held is made when the thread stands still, which it does until PREFIX.done is there as well; then
 * PREFIX.over is made. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pause_ms(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* The thread of that name in a process, or 0. */
static pid_t find_thread(pid_t process, const char *name)
{
    char path[600], text[32];
    pid_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/task", process);
    DIR *directory = opendir(path);
    const struct dirent *entry;
    while (directory != NULL && found == 0 && (entry = readdir(directory)) != NULL) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/comm", process, entry->d_name);
        FILE *file = fopen(path, "r");
        if (file != NULL && fgets(text, sizeof text, file) != NULL && strncmp(text, name, strlen(name)) == 0)
            found = (pid_t)atol(entry->d_name);
        if (file != NULL)
            fclose(file);
    }
    if (directory != NULL)
        closedir(directory);
    return found;
}

static const struct {
    const char *thread, *suffix;
} kinds[] = {{"appekg", "ekg"}, {"incprof-write", "gmon"}, {"incprof-trace", "mpi"}, {"selfanalyze", "sa"}};

/* How much the thread has written. */
static long written(const char *run, const char *thread)
{
    char pattern[600];
    struct stat file;
    glob_t found;
    int kind = 0;
    while (kind < 3 && strcmp(kinds[kind].thread, thread) != 0)
        kind++;
    snprintf(pattern, sizeof pattern, "%s/*.%s", run, kinds[kind].suffix);
    bool is_there = glob(pattern, 0, NULL, &found) == 0 && stat(found.gl_pathv[0], &file) == 0;
    globfree(&found);
    return is_there ? (long)file.st_size : 0;
}

/* Until it has written more than that, which is what it has written by then. */
static long wait_for_more(const char *run, const char *thread, long before)
{
    long now = before;
    for (int attempt = 0; attempt < 100000 && (now = written(run, thread)) <= before; attempt++)
        pause_ms(1);
    return now;
}

static const char *file_name(const char *suffix)
{
    static char path[600];
    const char *prefix = getenv("HOLD_FILES");
    if (prefix != NULL)
        snprintf(path, sizeof path, "%s.%s", prefix, suffix);
    return prefix != NULL ? path : NULL;
}

/* These do nothing where no files are wanted. */
static void wait_for_file(const char *suffix)
{
    const char *path = file_name(suffix);
    for (int attempt = 0; path != NULL && attempt < 100000 && access(path, F_OK) != 0; attempt++)
        pause_ms(1);
}

static void make_file(const char *suffix)
{
    const char *path = file_name(suffix);
    if (path != NULL)
        close(open(path, O_WRONLY | O_CREAT, 0600));
}

static void hold(pid_t thread, long ms)
{
    int status;
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0 || ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0)
        _exit(77);
    waitpid(thread, &status, __WALL);
    make_file("held");
    if (ms == 0)
        return;
    pause_ms(ms);
    wait_for_file("done");
    ptrace(PTRACE_DETACH, thread, NULL, NULL);
    make_file("over");
}

int main(int count, char **arguments)
{
    pid_t thread = 0;
    const char *name = getenv("HOLD") != NULL ? getenv("HOLD") : kinds[0].thread;
    if (count < 3)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        execv(arguments[2], arguments + 2);
        _exit(127);
    }
    for (int attempt = 0; attempt < 60000 && thread == 0; attempt++) {
        pause_ms(1);
        thread = find_thread(child, name);
    }
    const char *run = getenv(name == kinds[0].thread ? "EKG_DIR" : "INCPROF_DIR");
    if (thread == 0 || run == NULL)
        return 2;
    wait_for_file("ready");
    /* What comes first is the head of the file, and an interval comes next, however late. */
    long before = wait_for_more(run, name, wait_for_more(run, name, 0));
    if (getenv("HOLD_FILES") != NULL)
        wait_for_more(run, name, before); /* the one before may have ended before the program was ready */
    pause_ms(20);
    hold(thread, atol(arguments[1]));
    int status = 0;
    pid_t ended;
    do
        ended = waitpid(-1, &status, __WALL);
    while (ended > 0 && ended != child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

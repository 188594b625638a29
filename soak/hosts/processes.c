/* Processes: children by fork, vfork, spawn and shells, and other programs in the place of this one. */
#include "host.h"

#include <sched.h>
#include <spawn.h>

extern char **environ;

/* What a program that was reached by exec does. */
static char *const programs[][8] = {
    {"host", "work:300", "exit:3", NULL}, {"host", "threads:3", "work:100", "_exit:4", NULL},
    {"host", "burn:8", "abort", NULL},    {"host", "work:10", "fork:2", "exit:0", NULL},
    {"host", "burn:5", "raise:15", NULL},
};
#define PROGRAMS (sizeof programs / sizeof *programs)

pid_t fork_counted(void)
{
    pid_t child = fork();
    if (child == 0)
        ledger_claim();
    return child;
}

static void say_ended(const char *how, pid_t child)
{
    int status = 0;
    if (child < 0) {
        say(how, -errno);
        return;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    say(how, status);
}

static void child_ends(long way)
{
    switch (way % 6) {
    case 0:
        exit(5);
    case 1:
        _exit(6);
    case 2:
        quick_exit(7);
    case 3:
        abort();
    case 4:
        raise(SIGKILL);
        break;
    default:
        syscall(SYS_exit_group, 8);
    }
}

static void act_fork(long number)
{
    for (long i = 0; i < number; i++) {
        pid_t child = fork_counted();
        if (child == 0) {
            work(100 * i);
            burn(i % 3);
            child_ends(i);
        }
        say_ended("fork", child);
    }
}

/* A chain of children: each is the parent of the next. */
static void act_chain(long number)
{
    pid_t child = number > 0 ? fork_counted() : 0;
    if (child == 0) {
        work(50);
        if (number > 1)
            act_chain(number - 1);
        if (number > 0)
            _exit((int)number);
    }
    if (number > 0)
        say_ended("chain", child);
}

static void *forker(void *result)
{
    pid_t child = fork_counted();
    if (child == 0) {
        work(200);
        _exit(0);
    }
    int status = -1;
    if (child > 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
    *(int *)result = child < 0 ? -2 : status;
    return NULL;
}

/* Children of threads, while other threads are inside everything. */
static void act_forkt(long number)
{
    pthread_t threads[16];
    int results[16];
    long made = 0;
    while (made < number && made < 16 && pthread_create(&threads[made], NULL, forker, &results[made]) == 0)
        made++;
    work(1000);
    for (long i = 0; i < made; i++) {
        pthread_join(threads[i], NULL);
        say("forkt", results[i]);
    }
}

static void act_forkexec(long number)
{
    pid_t child = fork_counted();
    if (child == 0) {
        execv(own_path(), programs[(size_t)number % PROGRAMS]);
        _exit(90);
    }
    say_ended("forkexec", child);
}

static void act_vfork(long number)
{
    pid_t child = vfork();
    if (child == 0) {
        if (number > 0)
            execv(own_path(), programs[(size_t)number % PROGRAMS]);
        _exit(91);
    }
    say_ended("vfork", child);
}

/* A vfork child that resets signals before it starts a program, as Python's subprocess does. */
static void act_vforkreset(long number)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t none;
    sigemptyset(&none);
    pid_t child = vfork();
    if (child == 0) {
        for (int signal = 1; signal < 32; signal++)
            sigaction(signal, &action, NULL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execv(own_path(), programs[(size_t)number % PROGRAMS]);
        _exit(92);
    }
    say_ended("vforkreset", child);
    sigaction(SIGURG, NULL, &action);
    say("handler", action.sa_handler != SIG_DFL);
}

/* Or until its parent has been. */
static void work_until_killed(int to, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    burn(5);
    work(100);
    if (write(to, "x", 1) != 1)
        _exit(93);
    while (getppid() == parent)
        usleep(1000);
    _exit(94);
}

/* Workers that are killed when their work is done, as those of Python's Pool. */
static void act_pool(long number)
{
    int ends[2];
    char byte;
    pid_t parent = getpid();
    for (long i = 0; i < number; i++) {
        if (pipe(ends) != 0) {
            say("pool", -errno);
            return;
        }
        pid_t child = fork_counted();
        if (child == 0)
            work_until_killed(ends[1], parent);
        close(ends[1]);
        while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
            continue;
        close(ends[0]);
        if (child > 0)
            kill(child, SIGTERM);
        say_ended("pool", child);
    }
}

/* What a program inherits: SIGURG blocked (1) and ignored (2). Of one that is recorded the kernel would say our own. */
static void act_inherit(long number)
{
    char line[200];
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    sigprocmask((number & 1) != 0 ? SIG_BLOCK : SIG_UNBLOCK, &set, &before);
    void (*handler)(int) = signal(SIGURG, (number & 2) != 0 ? SIG_IGN : SIG_DFL);
    FILE *pipe = popen("INCPROF_DISABLE=1 grep -E 'SigBlk|SigIgn' /proc/self/status", "r");
    while (pipe != NULL && fgets(line, sizeof line, pipe) != NULL)
        say("inherit", strtol(line + 8, NULL, 16));
    say("inherit", pipe != NULL ? pclose(pipe) : -1);
    signal(SIGURG, handler);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void set_signals(bool is_blocked, bool is_ignored)
{
    const int some[] = {SIGURG, SIGWINCH, SIGPROF, SIGUSR1, SIGTERM, SIGRTMIN + 3};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        sigaddset(&set, some[i]);
        signal(some[i], is_ignored ? SIG_IGN : SIG_DFL);
    }
    sigprocmask(is_blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* By posix_spawn, also with signals as that sets them, vfork and fork. Child or negative. */
static pid_t start_masked(long way, char *const *words, int to)
{
    pid_t child = -1;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, to, 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, way == 1 ? POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF : 0);
    if (way < 2)
        return posix_spawn(&child, words[0], &files, &attributes, words, environ) == 0 ? child : -1;
    child = way == 2 ? vfork() : fork();
    if (child == 0) {
        dup2(to, 1);
        execv(words[0], words);
        _exit(95);
    }
    return child;
}

/* What a program inherits: signals blocked (1) and ignored (2), started in four ways (4, 8). */
static void act_startmask(long number)
{
    char *const words[] = {"/bin/grep", "-E", "SigBlk|SigIgn", "/proc/self/status", NULL};
    char line[200];
    int ends[2];
    const char *before = getenv("INCPROF_DISABLE");
    if (pipe(ends) != 0) {
        say("startmask", -errno);
        return;
    }
    setenv("INCPROF_DISABLE", "1", 1); /* of a program that is recorded the kernel would say our own */
    set_signals(number & 1, number & 2);
    pid_t child = start_masked(number >> 2 & 3, words, ends[1]);
    set_signals(false, false);
    if (before == NULL)
        unsetenv("INCPROF_DISABLE");
    close(ends[1]);
    FILE *file = fdopen(ends[0], "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        say("startmask", strtol(line + 8, NULL, 16));
    if (file != NULL)
        fclose(file);
    say_ended("startmask", child);
}

/* Refused to a process with threads; those that have just ended may count. */
static void act_userns(long number)
{
    (void)number;
    int result = unshare(CLONE_NEWUSER);
    for (int i = 0; i < 100 && result != 0 && errno == EINVAL; i++) {
        usleep(1000);
        result = unshare(CLONE_NEWUSER);
    }
    say("userns", result == 0 ? 0 : errno);
}

static void act_spawn(long number)
{
    pid_t child = -1;
    int error = posix_spawn(&child, own_path(), NULL, NULL, programs[(size_t)number % PROGRAMS], environ);
    errno = error;
    say_ended("spawn", error == 0 ? child : -1);
}

static void act_system(long number)
{
    char command[64];
    snprintf(command, sizeof command, "exit %ld", number % 256);
    say("system", system(command));
}

static void act_popen(long number)
{
    char command[64], line[64] = "";
    snprintf(command, sizeof command, "echo %ld", number);
    FILE *pipe = popen(command, "r");
    if (pipe != NULL && fgets(line, sizeof line, pipe) != NULL)
        say("popen", strtol(line, NULL, 10));
    say("pclose", pipe != NULL ? pclose(pipe) : -1);
}

/* A daemon: the grandchild goes on by itself, and the pipe says when it has ended. */
static void act_daemon(long number)
{
    int ends[2];
    if (pipe(ends) != 0) {
        say("daemon", -errno);
        return;
    }
    pid_t child = fork_counted();
    if (child == 0) {
        setsid();
        pid_t grandchild = fork_counted();
        if (grandchild != 0)
            _exit(grandchild < 0);
        work(number);
        burn(5);
        exit(0);
    }
    say_ended("daemon", child);
    close(ends[1]);
    char byte;
    while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
        continue;
    close(ends[0]);
}

static void become(char **environment)
{
    char *words[64] = {"host"};
    char **rest = rest_of_script();
    for (int i = 0; i < 62 && rest[i] != NULL; i++)
        words[i + 1] = rest[i];
    execve(own_path(), words, environment);
    say("exec", errno);
}

static void act_exec(long number)
{
    (void)number;
    become(environ);
}

/* The next program knows nothing of the campaign, nor of the library. */
static void act_execbare(long number)
{
    (void)number;
    char *nothing[] = {NULL};
    become(nothing);
}

static void act_execfails(long number)
{
    char *words[] = {"none", NULL};
    for (long i = 0; i < number; i++) {
        execv("/nowhere/none", words);
        say("execfails", errno);
    }
}

const struct action process_actions[] = {
    {"fork", act_fork},         {"chain", act_chain},         {"forkt", act_forkt},
    {"forkexec", act_forkexec}, {"vfork", act_vfork},         {"vforkreset", act_vforkreset},
    {"pool", act_pool},         {"inherit", act_inherit},     {"startmask", act_startmask},
    {"userns", act_userns},     {"spawn", act_spawn},         {"system", act_system},
    {"popen", act_popen},       {"daemon", act_daemon},       {"exec", act_exec},
    {"execbare", act_execbare}, {"execfails", act_execfails}, {NULL, NULL}};

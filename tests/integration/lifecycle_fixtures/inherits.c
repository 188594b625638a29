/* Starts the program that it is given, in one of several ways, with SIGURG `blocked`, `ignored`, `both` or `handled`.
 *
 *     inherits STATE WAY PROGRAM ARGUMENTS... */
#define _GNU_SOURCE
#include "host.h"

#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static volatile sig_atomic_t seen;

static void on_signal(int number)
{
    seen += number == SIGURG;
}

static void set_up(const char *state)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    sigaddset(&set, SIGUSR2);
    if (strcmp(state, "handled") == 0)
        signal(SIGURG, on_signal);
    if (strcmp(state, "ignored") == 0 || strcmp(state, "both") == 0)
        signal(SIGURG, SIG_IGN);
    if (strcmp(state, "blocked") == 0 || strcmp(state, "both") == 0)
        sigprocmask(SIG_BLOCK, &set, NULL);
}

static void copy(FILE *from)
{
    char line[200];
    while (fgets(line, sizeof line, from) != NULL)
        fputs(line, stdout);
    pclose(from);
}

static void start(const char *way, char **argv)
{
    char command[400] = "exec";
    pid_t child = -1;
    for (int i = 0; argv[i] != NULL; i++)
        snprintf(command + strlen(command), sizeof command - strlen(command), " '%s'", argv[i]);
    if (strcmp(way, "exec") == 0)
        execv(argv[0], argv);
    else if (strcmp(way, "vfork") == 0 && (child = vfork()) == 0)
        _exit(execv(argv[0], argv));
    else if (strcmp(way, "fork") == 0 && (child = fork()) == 0)
        _exit(execve(argv[0], argv, environ));
    else if (strcmp(way, "spawn") == 0)
        posix_spawn(&child, argv[0], NULL, NULL, argv, environ);
    else if (strcmp(way, "spawnp") == 0)
        posix_spawnp(&child, argv[0], NULL, NULL, argv, environ);
    else if (strcmp(way, "system") == 0 && system(command) != 0)
        puts("no system");
    else if (strcmp(way, "popen") == 0)
        copy(popen(command, "r"));
    if (child > 0)
        waitpid(child, NULL, 0);
}

/* Blocked, ignored, and what has come. */
static void show(const char *when)
{
    sigset_t mask;
    struct sigaction action;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    sigaction(SIGURG, NULL, &action);
    raise(SIGURG);
    printf("%s: blocked %d ignored %d seen %d\n", when, sigismember(&mask, SIGURG), action.sa_handler == SIG_IGN, seen);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    work(1000);
    burn(40);
    set_up(argv[1]);
    execl("/no/such/program", "program", NULL);
    show("after an exec that failed");
    burn(80);
    start(argv[2], argv + 3);
    show("afterwards");
    burn(40);
    return 0;
}

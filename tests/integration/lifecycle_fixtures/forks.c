/* One kind of child per mode. The parent calls tick 1000 times before and 10 times after, each child 7 times. */
#include "host.h"

#include "held.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static int wait_for(pid_t child)
{
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int child(int status)
{
    work(7);
    burn(60);
    return status;
}

static void *spins(void *unused)
{
    for (;;)
        burn(5);
    return unused;
}

static pid_t fork_child(int status, int forks_again)
{
    pid_t pid = fork();
    if (pid == 0) {
        int code = child(status);
        if (forks_again)
            code += wait_for(fork_child(1, 0));
        exit(code);
    }
    return pid;
}

static int launch(const char *mode, char **argv)
{
    pid_t pid = -1;
    pthread_t thread;
    if (strcmp(mode, "fork") == 0)
        return wait_for(fork_child(3, 0));
    if (strcmp(mode, "again") == 0)
        return wait_for(fork_child(3, 1));
    if (strcmp(mode, "threads") == 0) {
        for (int i = 0; i < 2; i++)
            pthread_create(&thread, NULL, spins, NULL);
        int sum = 0;
        for (int i = 0; i < 6; i++)
            sum += wait_for(fork_child(1, 0));
        return sum;
    }
    if (strcmp(mode, "idle") == 0) {
        int sum = 0;
        for (int i = 0; i < 200; i++) {
            if ((pid = fork()) == 0)
                _exit(1);
            sum += wait_for(pid);
        }
        return sum;
    }
    if (strcmp(mode, "vfork") == 0) {
        if ((pid = vfork()) == 0) {
            execv(argv[0], argv);
            _exit(99);
        }
        return wait_for(pid);
    }
    if (strcmp(mode, "vfork-exit") == 0) {
        if ((pid = vfork()) == 0)
            _exit(42);
        return wait_for(pid);
    }
    if (strcmp(mode, "exec") == 0) {
        if ((pid = fork()) == 0) {
            tick();
            execv(argv[0], argv);
            _exit(99);
        }
        return wait_for(pid);
    }
    if (strcmp(mode, "spawn") == 0)
        return posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0 ? wait_for(pid) : -1;
    if (strcmp(mode, "system") == 0)
        return WEXITSTATUS(system(argv[0]));
    if (strcmp(mode, "popen") == 0) {
        char line[80] = "";
        FILE *pipe = popen(argv[0], "r");
        while (fgets(line, sizeof line, pipe) != NULL)
            printf("piped %s", line);
        return WEXITSTATUS(pclose(pipe));
    }
    return -1;
}

int main(int argc, char **argv)
{
    (void)argc;
    work(1000);
    burn(60);
    burn_until_held();
    printf("status %d\n", launch(argv[1], argv + 2));
    work(10);
    burn(20);
    return 4;
}

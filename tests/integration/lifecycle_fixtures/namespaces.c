/* Enters namespaces that the kernel refuses to a process with several threads, in one of several ways, and goes on. */
#define _GNU_SOURCE
#include "host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void *rest(void *unused)
{
    pause();
    return unused;
}

static int open_files(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (directory != NULL && readdir(directory) != NULL)
        count++;
    if (directory != NULL)
        closedir(directory);
    return count;
}

/* The user namespace of a child. */
static int enter_childs(int type)
{
    char path[80];
    int ends[2];
    char byte = 0;
    pid_t child = pipe(ends) == 0 ? fork() : -1;
    if (child == 0) {
        byte = (char)(unshare(CLONE_NEWUSER) != 0);
        if (write(ends[1], &byte, 1) == 1)
            pause();
        _exit(0);
    }
    snprintf(path, sizeof path, "/proc/%d/ns/user", child);
    if (read(ends[0], &byte, 1) != 1 || byte != 0)
        return -2;
    int space = open(path, O_RDONLY);
    int result = setns(space, type);
    close(space), close(ends[0]), close(ends[1]);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return result;
}

static int enter(const char *way)
{
    pthread_t thread;
    if (strcmp(way, "threads") == 0)
        pthread_create(&thread, NULL, rest, NULL);
    if (strcmp(way, "syscall") == 0)
        return (int)syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS);
    if (strcmp(way, "setns") == 0)
        return enter_childs(CLONE_NEWUSER);
    if (strcmp(way, "any") == 0)
        return enter_childs(0);
    return unshare(CLONE_NEWUSER);
}

__attribute__((noinline)) static void afterwards(void)
{
    burn(60);
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    (void)argc;
    close(0);
    work(1000);
    burn(60);
    errno = 0;
    int result = enter(argv[1]);
    printf("%d %s uid %d files %d\n", result, strerror(errno), (int)getuid(), open_files());
    printf("again %d\n", unshare(CLONE_NEWUSER));
    work(10);
    afterwards();
    return 0;
}

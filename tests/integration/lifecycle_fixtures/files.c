/* Programs with plans of their own for descriptors. Each burns 120 ms around them and prints what it found. */
#define _GNU_SOURCE
#include "host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Opens files of its own, lets the collector write, and looks for anything in them that it has not written. */
static void check_own_files(void)
{
    int fds[40], wrong = 0;
    char name[32];
    struct stat status;
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "own-%d", i);
        fds[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        wrong += fds[i] != 3 + i;
    }
    burn(120);
    for (int i = 0; i < 40; i++)
        wrong += write(fds[i], "mine", 4) != 4 || fstat(fds[i], &status) != 0 || status.st_size != 4;
    printf("wrong %d\n", wrong);
}

static void *takes_lowest(void *unused)
{
    (void)unused;
    int wrong = 0;
    double end = cpu_s() + 0.8;
    close(0);
    while (cpu_s() < end) {
        int fd = open("/dev/null", O_RDONLY);
        wrong += fd != 0;
        close(fd);
        tick();
    }
    printf("stolen %d\n", wrong);
    return NULL;
}

static int open_count(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* The reader of a pipe sees its end as soon as the program has closed the other. */
static void pipe_end(void)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 5 : 6);
    }
    burn(60);
    close(ends[1]);
    int status;
    waitpid(pid, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
}

/* What init scripts start: two forks, a session of its own, the root directory, no descriptor left. */
static void daemonise(void)
{
    if (fork() != 0)
        exit(0);
    setsid();
    if (fork() != 0)
        _exit(0);
    if (chdir("/") != 0)
        _exit(1);
    umask(0);
    int result = dup(1);
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    int wrong = open("/dev/null", O_RDWR) != 0;
    wrong += dup(0) != 1;
    wrong += dup(0) != 2;
    work(50);
    burn(120);
    dprintf(result, "daemon wrong %d\n", wrong);
}

int main(int argc, char **argv)
{
    const char *mode = argv[1];
    struct rlimit limit;
    (void)argc;
    setvbuf(stdout, NULL, _IONBF, 0);
    work(20);
    burn(60);
    if (strcmp(mode, "loop") == 0) {
        for (int fd = 3; fd < 4096; fd++)
            close(fd);
        check_own_files();
    } else if (strcmp(mode, "range") == 0) {
        close_range(3, ~0u, 0);
        check_own_files();
    } else if (strcmp(mode, "lowest") == 0) {
        takes_lowest(NULL);
    } else if (strcmp(mode, "count") == 0) {
        printf("open %d\n", open_count());
    } else if (strcmp(mode, "pipe") == 0) {
        pipe_end();
    } else if (strcmp(mode, "daemon") == 0) {
        daemonise();
    } else if (strcmp(mode, "few") == 0) {
        limit = (struct rlimit){5, 5};
        setrlimit(RLIMIT_NOFILE, &limit);
        int first = open("/dev/null", O_RDONLY), second = open("/dev/null", O_RDONLY);
        burn(100);
        printf("%d %d %d\n", first, second, open("/dev/null", O_RDONLY) < 0);
    } else if (strcmp(mode, "chroot") == 0) {
        printf("chroot %d\n", chroot(argv[2]) + chdir("/"));
        burn(120);
    } else if (strcmp(mode, "nobody") == 0) {
        printf("setuid %d\n", setgid(65534) + setuid(65534));
        burn(120);
    } else if (strcmp(mode, "chdir") == 0) {
        printf("chdir %d\n", chdir("/"));
        burn(120);
    } else if (strcmp(mode, "stderr") == 0) {
        close(2);
        int fd = open("own", O_RDWR | O_CREAT | O_TRUNC, 0600);
        printf("fd %d\n", fd);
        burn(120);
        printf("size %ld\n", (long)lseek(fd, 0, SEEK_END));
    }
    return 0;
}

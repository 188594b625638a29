/* Two threads that beat, in a process or on a disk that runs into limits.
 *
 *     robust_limits ACTION...
 *
 * Actions, one after the other; then the program ends.
 *     start                    lets the threads begin: actions before this one come before the first beat
 *     sleep=MILLISECONDS, interval=FILE, line, file=FILE
 *                              waits so long, for the first interval in a file, for a line on stderr, for a file
 *     beats=N                  waits until each thread has ended N more beats of each id
 *     tried=FILE               waits until an interval that began after this has been written, or tried in vain
 *     off                      waits until recording is switched off
 *     create=FILE              makes a file
 *     fill=FILE, free=FILE     takes all room of a file system, gives it back
 *     empty=DIR                removes a directory and the files in it
 *     fsize=N, nofile=N        limits files' sizes, and the number of descriptors; max for none
 *     as=N                     limits memory to N KiB more than now
 *     quota                    from here on, writes into files fail as if a quota were used up
 *     nothreads                from here on, no thread can be made
 * Prints `id ended pulses` for each id. */
#define _GNU_SOURCE
#include <appekg.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "robust_wait.h"

#define ANY ~0u

enum { THREADS = 2, IDS = 5 };

static atomic_int over;
static pthread_barrier_t ready;
static unsigned long long ended[THREADS][IDS];

static void *work(void *argument)
{
    uintptr_t number = (uintptr_t)argument;
    pthread_barrier_wait(&ready);
    for (uint32_t turn = 0; turn < IDS || !atomic_load_explicit(&over, memory_order_relaxed); turn++) {
        ekg_begin(turn % IDS);
        ekg_end(turn % IDS);
        __atomic_store_n(&ended[number][turn % IDS], ended[number][turn % IDS] + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void fill(const char *path)
{
    static const char block[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    while (write(fd, block, sizeof block) > 0)
        ;
    close(fd);
}

static void empty(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.' && unlinkat(dirfd(directory), entry->d_name, 0) != 0)
            exit(2);
    closedir(directory);
    if (rmdir(path) != 0)
        exit(2);
}

static void limit(__rlimit_resource_t what, const char *text, rlim_t unit, rlim_t base)
{
    struct rlimit old;
    getrlimit(what, &old);
    old.rlim_cur = strcmp(text, "max") == 0 ? old.rlim_max : base + (rlim_t)atol(text) * unit;
    setrlimit(what, &old);
}

static rlim_t memory_in_use(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lu", &pages) != 1)
        exit(2);
    fclose(file);
    return (rlim_t)pages * 4096;
}

/* In all threads, from here on: a system call with that first argument fails; or with any, when that is ANY. */
static void refuse(unsigned int call, unsigned int first, unsigned int error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | (first == ANY ? BPF_JGE : BPF_JEQ) | BPF_K, first == ANY ? 0 : first, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        _exit(77);
}

static void sleep_ms(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* stderr is a file. */
static void wait_for_line(void)
{
    struct stat status;
    while (fstat(2, &status) != 0 || status.st_size == 0)
        sleep_ms(1);
}

/* Each thread beats its ids in turn: checking one of them is enough. */
static void wait_for_beats_of_all(unsigned long long count)
{
    for (int thread = 0; thread < THREADS; thread++) {
        const unsigned long long *last = &ended[thread][IDS - 1];
        const unsigned long long before = __atomic_load_n(last, __ATOMIC_RELAXED);
        while (__atomic_load_n(last, __ATOMIC_RELAXED) < before + count + 1)
            sleep_ms(1);
    }
}

static int is_later(struct timespec time, struct timespec than)
{
    return time.tv_sec > than.tv_sec || (time.tv_sec == than.tv_sec && time.tv_nsec > than.tv_nsec);
}

/* A write that finds no room changes the file's time as well. The first one may be of an interval that had ended. */
static void wait_for_tries(const char *path)
{
    for (int i = 0; i < 2; i++) {
        struct timespec now;
        struct stat status;
        clock_gettime(CLOCK_REALTIME, &now);
        while (stat(path, &status) != 0 || !is_later(status.st_mtim, now))
            sleep_ms(1);
    }
}

static void create(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || write(fd, "\n", 1) != 1)
        exit(2);
    close(fd);
}

/* Returns whether that is an action that waits. */
static int wait_for(const char *name, const char *value)
{
    if (strcmp(name, "sleep") == 0)
        sleep_ms(atol(value));
    else if (strcmp(name, "interval") == 0)
        wait_for_interval(value);
    else if (strcmp(name, "line") == 0)
        wait_for_line();
    else if (strcmp(name, "beats") == 0)
        wait_for_beats_of_all(strtoull(value, NULL, 10));
    else if (strcmp(name, "tried") == 0)
        wait_for_tries(value);
    else if (strcmp(name, "file") == 0)
        while (access(value, F_OK) != 0)
            sleep_ms(1);
    else if (strcmp(name, "off") == 0)
        while (ekg_is_enabled())
            sleep_ms(1);
    else
        return 0;
    return 1;
}

static void act(const char *name, const char *value)
{
    if (wait_for(name, value))
        return;
    if (strcmp(name, "start") == 0)
        pthread_barrier_wait(&ready);
    else if (strcmp(name, "create") == 0)
        create(value);
    else if (strcmp(name, "fill") == 0)
        fill(value);
    else if (strcmp(name, "free") == 0)
        unlink(value);
    else if (strcmp(name, "empty") == 0)
        empty(value);
    else if (strcmp(name, "fsize") == 0)
        limit(RLIMIT_FSIZE, value, 1, 0);
    else if (strcmp(name, "nofile") == 0)
        limit(RLIMIT_NOFILE, value, 1, 0);
    else if (strcmp(name, "as") == 0)
        limit(RLIMIT_AS, value, 1024, memory_in_use());
    else if (strcmp(name, "quota") == 0)
        refuse(SYS_write, 3, EDQUOT); /* the interval thread has a table of its own, with 0 to 2 taken */
    else if (strcmp(name, "nothreads") == 0) {
        refuse(SYS_clone, ANY, EAGAIN);
        refuse(SYS_clone3, ANY, EAGAIN);
    } else
        exit(2);
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&ready, NULL, THREADS + 1);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
            return 2;
    for (int i = 1; i < count; i++) {
        char *value = strchr(arguments[i], '=');
        if (value != NULL)
            *value++ = '\0';
        act(arguments[i], value);
    }
    atomic_store(&over, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ekg_finalize();
    limit(RLIMIT_FSIZE, "max", 0, 0);
    limit(RLIMIT_AS, "max", 0, 0);
    for (int id = 0; id < IDS; id++)
        printf("%d %llu 0\n", id, ended[0][id] + ended[1][id]);
    return 0;
}

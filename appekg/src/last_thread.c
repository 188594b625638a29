#define _GNU_SOURCE
#include "last_thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "sys.h"

/* What libc lets a thread block. It needs the others itself: setuid in any thread waits until all have taken one. */
#define SIGNAL(number) ((uint64_t)1 << ((number) - 1))
#define BLOCKED (~(SIGNAL(SIGKILL) | SIGNAL(SIGSTOP) | SIGNAL(32) | SIGNAL(33)))
/* IOPRIO_WHO_PROCESS; the lowest level of IOPRIO_CLASS_BE. */
#define IO_OF_THREAD 1
#define IO_CLASS_SHIFT 13
#define LOW_IO_PRIORITY (2 << IO_CLASS_SHIFT | 7)
#define PERIOD_NS 500000000
#define CONFIRMATIONS 2

struct last_thread_marked last_thread_mark(void)
{
    const uint64_t blocked = BLOCKED;
    struct last_thread_marked before = {0, SYS2(SYS_ioprio_get, IO_OF_THREAD, 0)};
    SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, &before.mask, sizeof blocked);
    SYS3(SYS_ioprio_set, IO_OF_THREAD, 0, LOW_IO_PRIORITY);
    return before;
}

void last_thread_unmark(struct last_thread_marked before)
{
    bool was_set = before.io_priority >> IO_CLASS_SHIFT > 0;
    SYS3(SYS_ioprio_set, IO_OF_THREAD, 0, was_set ? before.io_priority : 0);
    SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &before.mask, NULL, sizeof before.mask);
}

/* /proc/self/task/<tid>/<file> into path, which is long enough. */
static void name_file(char *path, const char *tid, const char *file)
{
    strcpy(path, "/proc/self/task/");
    strcat(path, tid);
    strcat(path, "/");
    strcat(path, file);
}

/* A thread that has ended has no working directory. (Without /proc, every thread looks so.) */
static bool main_has_ended(const char *pid)
{
    char path[64];
    char directory[8];
    name_file(path, pid, "cwd");
    return sys_readlink(path, directory, sizeof directory) == -ENOENT;
}

static uint64_t hexadecimal(const char *text)
{
    uint64_t value = 0;
    for (; (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f'); text++)
        value = value << 4 | (uint64_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
    return value;
}

static int decimal(const char *text)
{
    int value = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (*text - '0');
    return value;
}

/* Whether a thread, by its /proc/self/task/<tid>/status, is none of the application's: marked, or with a name of this
 * library's or incprof's other one. libc too blocks everything, for moments. */
static bool is_ours(const char *tid, const char *status)
{
    static const char blocked[] = "\nSigBlk:\t";
    const char *at = strstr(status, blocked);
    uint64_t mask = at != NULL ? hexadecimal(at + sizeof blocked - 1) : 0;
    bool is_named = strncmp(status, "Name:\tappekg", 12) == 0 || strncmp(status, "Name:\tincprof", 13) == 0;
    if ((mask & BLOCKED) != BLOCKED)
        return false;
    return is_named || SYS2(SYS_ioprio_get, IO_OF_THREAD, decimal(tid)) == LOW_IO_PRIORITY;
}

/* A thread that is not there any more is nobody's. */
static bool is_application(const char *tid)
{
    char path[64];
    char status[4096];
    name_file(path, tid, "status");
    int fd = sys_open(path, O_RDONLY, 0);
    if (fd < 0)
        return false;
    long got = SYS3(SYS_read, fd, status, sizeof status - 1);
    sys_close(fd);
    status[got > 0 ? got : 0] = '\0';
    return got > 0 && !is_ours(tid, status);
}

/* Whether the application has no thread but its main thread, which has ended. */
static bool is_over(const char *pid)
{
    _Alignas(8) char entries[2048];
    int directory = sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0);
    bool over = directory >= 0;
    long got;
    while (over && (got = SYS3(SYS_getdents64, directory, entries, sizeof entries)) > 0) {
        for (long at = 0; at < got && over;) {
            const struct sys_directory_entry *entry = (const void *)(entries + at);
            if (entry->name[0] != '.' && strcmp(entry->name, pid) != 0)
                over = !is_application(entry->name);
            at += entry->length;
        }
    }
    if (directory >= 0)
        sys_close(directory);
    return over;
}

static void *guard(void *unused)
{
    const struct timespec period = {0, PERIOD_NS};
    char pid[24];
    struct buffer text = {0};
    (void)unused;
    buffer_decimal(&text, (uint64_t)SYS0(SYS_getpid));
    buffer_u8(&text, '\0');
    strcpy(pid, text.failed ? "0" : (const char *)text.data);
    buffer_free(&text);
    SYS5(SYS_prctl, 15 /* PR_SET_NAME */, "appekg-guard", 0, 0, 0);
    for (int seen = 0; seen < CONFIRMATIONS;) {
        SYS2(SYS_nanosleep, &period, NULL);
        seen = main_has_ended(pid) && is_over(pid) ? seen + 1 : 0;
    }
    exit(0); /* as libc does in the last thread */
}

bool last_thread_guard(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, guard, NULL) != 0)
        return false;
    pthread_detach(thread);
    return true;
}

/* Thread safety: no static state. */
#define _GNU_SOURCE
#include "closing_line.h"

#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "fixed_text.h"
#include "sys.h"
#include "tasks.h"

#define LONGEST_NS 200000000u
#define MOST_LEVELS 8
#define TICK_NS 10000000u /* of /proc, whatever the kernel's HZ */
#define FIELD_AFTER_NAME 3
#define CHILDREN_FIELD 16 /* user and system time of the children waited for, in /proc/PID/stat */

struct walk {
    uint64_t total_ns;
    uint64_t deadline_ns;
    int level;
};

static void add_process(struct walk *walk, pid_t pid);

static uint64_t usage_ns(const struct rusage *usage)
{
    uint64_t seconds = (uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec;
    uint64_t micros = (uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec;
    return seconds * 1000000000u + micros * 1000;
}

/* Read a number and advance behind it. */
static uint64_t read_number(const char **at)
{
    uint64_t number = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++)
        number = number * 10 + (uint64_t)(**at - '0');
    return number;
}

static uint64_t reaped_children_ns(const char *stat)
{
    const char *at = strrchr(stat, ')'); /* the name may hold anything */
    for (int field = FIELD_AFTER_NAME - 1; at != NULL && field < CHILDREN_FIELD; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL)
        return 0;
    at++;
    uint64_t ticks = read_number(&at);
    at += *at == ' ';
    return (ticks + read_number(&at)) * TICK_NS;
}

/* Add all children of a thread; `path` is below /proc. */
static void add_children(struct walk *walk, const char *path)
{
    struct buffer text = {0};
    const char *at = task_read(path, &text) ? (const char *)text.data : "";
    for (pid_t pid; (pid = (pid_t)read_number(&at)) > 0; at += *at == ' ')
        add_process(walk, pid);
    buffer_free(&text);
}

/* Add the children of all threads of a process; `process` is its name below /proc. */
static void add_descendants(struct walk *walk, const char *process)
{
    _Alignas(8) char entries[1024];
    char path[64] = "/proc/";
    text_append(path, sizeof path, process);
    text_append(path, sizeof path, "/task");
    int fd = sys_open(path, O_RDONLY | O_DIRECTORY, 0);
    long got;
    while (fd >= 0 && (got = SYS3(SYS_getdents64, fd, entries, sizeof entries)) > 0) {
        for (long at = 0; at < got && monotonic_ns() < walk->deadline_ns;) {
            const struct sys_directory_entry *entry = (const void *)(entries + at);
            path[0] = '\0';
            text_append(path, sizeof path, process);
            text_append(path, sizeof path, "/task/");
            text_append(path, sizeof path, entry->name);
            text_append(path, sizeof path, "/children");
            if (entry->name[0] != '.')
                add_children(walk, path);
            at += entry->length;
        }
    }
    if (fd >= 0)
        sys_close(fd);
}

/* Add a process: its final time if it has ended, else its time so far. */
static void add_process(struct walk *walk, pid_t pid)
{
    char process[24] = "", path[32] = "";
    struct rusage usage;
    siginfo_t info = {.si_pid = 0};
    long error = walk->level > 0 ? -ECHILD : SYS5(SYS_waitid, P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT, &usage);
    if (error == 0 && info.si_pid == pid) {
        walk->total_ns += usage_ns(&usage);
        return;
    }
    text_append_number(process, sizeof process, (uint64_t)pid, 1);
    text_append(path, sizeof path, process);
    text_append(path, sizeof path, "/stat");
    struct buffer text = {0};
    walk->total_ns += sys_clock_ns((clockid_t)(~(unsigned int)pid << 3 | 2));
    walk->total_ns += task_read(path, &text) ? reaped_children_ns((const char *)text.data) : 0;
    buffer_free(&text);
    if (++walk->level < MOST_LEVELS)
        add_descendants(walk, process);
    walk->level--;
}

/* Return whether pids in /proc are of our namespace; they are of the process that has mounted it. */
static bool is_own_pid_namespace(void)
{
    char name[24] = "", own[24] = "";
    text_append_number(own, sizeof own, (uint64_t)SYS0(SYS_getpid), 1);
    return sys_readlink("/proc/self", name, sizeof name - 1) > 0 && strcmp(name, own) == 0;
}

uint64_t job_time_ns(void)
{
    struct rusage children;
    struct walk walk = {.deadline_ns = monotonic_ns() + LONGEST_NS};
    if (SYS2(SYS_getrusage, RUSAGE_CHILDREN, &children) == 0)
        walk.total_ns += usage_ns(&children);
    if (is_own_pid_namespace())
        add_descendants(&walk, "self");
    return walk.total_ns;
}

#define _GNU_SOURCE
#include "proc.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "buffer.h"
#include "log.h"
#include "sys.h"
#include "tasks.h"

static bool refuse(pid_t pid, const char *why)
{
    char line[256];
    snprintf(line, sizeof line, "process %d %s", pid, why);
    log_warn(line, NULL);
    return false;
}

static void name_file(char *path, size_t size, pid_t pid, const char *name)
{
    snprintf(path, size, "/proc/%d/%s", pid, name);
}

/* Return whether it is a process, by its status. */
static bool is_process(pid_t pid, const char *status)
{
    char why[64];
    int group = atoi(task_field(status, "Tgid:"));
    if (task_has_ended(status))
        return refuse(pid, "has ended already");
    if (group == pid)
        return true;
    snprintf(why, sizeof why, "is a thread of process %d: give that number", group);
    return refuse(pid, why);
}

/* Return whether the program is 64-bit; only these can be unwound. Files of another architecture are left to the
 * kernel. */
static bool is_64_bit(const char *exe)
{
    unsigned char ident[EI_NIDENT] = {0};
    int fd = sys_open(exe, O_RDONLY, 0);
    bool is_read = fd >= 0 && sys_pread_all(fd, ident, sizeof ident, 0);
    if (fd >= 0)
        sys_close(fd);
    return !is_read || ident[EI_CLASS] == ELFCLASS64;
}

bool target_read(pid_t pid, char *exe)
{
    char path[64];
    struct buffer status = {0};
    if (pid == getpid())
        return refuse(pid, "is incprof itself");
    snprintf(path, sizeof path, "%d/status", pid);
    bool is_there = task_read(path, &status);
    bool is_sound = is_there ? is_process(pid, (const char *)status.data) : refuse(pid, "is not there");
    buffer_free(&status);
    if (!is_sound)
        return false;
    name_file(path, sizeof path, pid, "exe");
    long length = sys_readlink(path, exe, PATH_MAX - 1);
    if (length == -EACCES || length == -EPERM)
        return refuse(pid, geteuid() == 0 ? "is closed even to root: this system forbids ptrace here"
                                          : "belongs to another user: run as that user or root");
    if (length <= 0)
        return refuse(pid, "is a kernel thread, and runs no program");
    exe[length] = '\0';
    return is_64_bit(path) || refuse(pid, "runs a 32-bit program: only 64-bit ones are recorded");
}

bool target_exe(pid_t pid, char *exe)
{
    char path[64];
    name_file(path, sizeof path, pid, "exe");
    long length = sys_readlink(path, exe, PATH_MAX - 1);
    exe[length > 0 ? length : 0] = '\0';
    return length > 0;
}

void target_name(pid_t pid, char *name, size_t size)
{
    char path[64];
    name_file(path, sizeof path, pid, "comm");
    int fd = sys_open(path, O_RDONLY, 0);
    long got = fd >= 0 ? SYS3(SYS_read, fd, name, size - 1) : 0;
    if (fd >= 0)
        sys_close(fd);
    name[got > 0 ? got - 1 : 0] = '\0'; /* remove the newline */
}

uint64_t target_entry(pid_t pid)
{
    char path[64];
    Elf64_auxv_t entries[64];
    name_file(path, sizeof path, pid, "auxv");
    int fd = sys_open(path, O_RDONLY, 0);
    long got = fd >= 0 ? SYS3(SYS_read, fd, entries, sizeof entries) : 0;
    if (fd >= 0)
        sys_close(fd);
    for (long i = 0; i < got / (long)sizeof *entries; i++)
        if (entries[i].a_type == AT_ENTRY)
            return entries[i].a_un.a_val;
    return 0;
}

void target_directory(pid_t pid, char *path, size_t size)
{
    char link[64];
    name_file(link, sizeof link, pid, "cwd");
    long length = sys_readlink(link, path, size - 1);
    path[length > 0 ? length : 0] = '\0';
}

/* A process's CPU clock, by the kernel's numbering: as sys_thread_clock, for all its threads. */
uint64_t target_cpu_ns(pid_t pid)
{
    return sys_clock_ns((clockid_t)(~(unsigned int)pid << 3 | 2));
}

bool target_is_stopped(pid_t pid)
{
    char path[64];
    struct buffer status = {0};
    snprintf(path, sizeof path, "%d/status", pid);
    char state = task_read(path, &status) ? *task_field((const char *)status.data, "State:") : '\0';
    buffer_free(&status);
    return state == 'T' || state == 't';
}

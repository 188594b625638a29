/* Thread safety: one caller at a time: the interval thread, under the collector's lock, or incprof-attach. */
#define _GNU_SOURCE
#include "blocked_thread.h"

#include <string.h>
#include <sys/stat.h>

#include "fixed_text.h"
#include "machine.h"
#include "peek.h"
#include "sys.h"

#define MOST_FILES 512 /* of all threads */
#define TEXT_BYTES 256
/* Of /proc/PID/stat, and two of its fields. */
#define STATUS_BYTES 1024
#define STATE_FIELD 3
#define PROCESSOR_FIELD 39

/* statx, which the headers of older C libraries lack: its number, what is wanted, and where the mode is. */
#ifndef SYS_statx
#define SYS_statx (MACHINE_ELF == EM_X86_64 ? 332 : 291)
#endif
#define NO_SYNC 0x4000
#define NO_AUTOMOUNT 0x800
#define WANT_TYPE 1
#define MODE_AT 14

static int open_files;

static void path_of(char *path, size_t size, pid_t tid, const char *name)
{
    path[0] = '\0';
    text_append(path, size, "/proc/");
    if (peek_process != 0)
        text_append_number(path, size, (uint64_t)peek_process, 1);
    else
        text_append(path, size, "self");
    text_append(path, size, "/task/");
    text_append_number(path, size, (uint64_t)tid, 1);
    text_append(path, size, name);
}

static int open_of(pid_t tid, const char *name)
{
    char path[64];
    path_of(path, sizeof path, tid, name);
    return sys_open(path, O_RDONLY, 0);
}

static void close_kept(int *kept)
{
    if (*kept == 0)
        return;
    sys_close(*kept - 1);
    *kept = 0;
    open_files--;
}

/* Read a file of the thread's into `text`, NUL-terminated. `kept`: where its descriptor is. Returns the bytes, or
 * negative errno. */
static long read_of(int *kept, pid_t tid, const char *name, char *text)
{
    int fd = *kept > 0 ? *kept - 1 : open_of(tid, name);
    if (fd < 0)
        return fd;
    long got = SYS4(SYS_pread64, fd, text, TEXT_BYTES - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    if (*kept > 0 && got <= 0) {
        close_kept(kept);
    } else if (*kept == 0 && (got <= 0 || open_files >= MOST_FILES)) {
        sys_close(fd);
    } else if (*kept == 0) {
        *kept = fd + 1;
        open_files++;
    }
    return got;
}

/* Parse a number, decimal or 0x..., and move behind it and the blanks that follow. */
static uint64_t take_number(const char **at)
{
    uint64_t value = 0;
    uint64_t base = 10;
    if ((*at)[0] == '0' && (*at)[1] == 'x') {
        base = 16;
        *at += 2;
    }
    for (;; (*at)++) {
        char c = **at;
        uint64_t digit = c >= '0' && c <= '9'   ? (uint64_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint64_t)(c - 'a' + 10)
                                                : 16;
        if (digit >= base)
            break;
        value = value * base + digit;
    }
    while (**at == ' ')
        (*at)++;
    return value;
}

bool task_times(struct thread_waits *waits, pid_t tid, struct task_times *times)
{
    char text[TEXT_BYTES];
    long got = read_of(&waits->times_file, tid, "/schedstat", text);
    if (got == -ESRCH || got == -ENOENT)
        return false;
    const char *at = text;
    *times = (struct task_times){0};
    if (got > 0) {
        times->cpu_ns = take_number(&at);
        times->delay_ns = take_number(&at);
        times->runs = take_number(&at);
    }
    if (times->runs == 0 && peek_process != 0) /* threads of other processes have no clocks */
        return false;
    if (times->runs == 0) /* not counted by this kernel */
        times->cpu_ns = sys_clock_ns(sys_thread_clock(tid));
    return true;
}

/* Read the thread's status. Returns what follows its name in parentheses, or NULL. */
static const char *read_status(pid_t tid, char *text, size_t size)
{
    int fd = open_of(tid, "/stat");
    if (fd < 0)
        return NULL;
    long got = SYS4(SYS_pread64, fd, text, size - 1, 0);
    sys_close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' ? end + 2 : NULL;
}

static enum task_result state_of(pid_t tid)
{
    char text[TEXT_BYTES];
    const char *state = read_status(tid, text, sizeof text);
    if (state == NULL)
        return TASK_GONE;
    return *state == 'S' || *state == 'D' ? TASK_REFUSED : TASK_RUNNING;
}

int task_processor(pid_t tid)
{
    char text[STATUS_BYTES];
    const char *at = read_status(tid, text, sizeof text);
    for (int field = STATE_FIELD; at != NULL && field < PROCESSOR_FIELD; field++) {
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    return at != NULL && *at >= '0' && *at <= '9' ? (int)take_number(&at) : -1;
}

enum task_result task_call(struct thread_waits *waits, pid_t tid, struct task_call *call)
{
    char text[TEXT_BYTES];
    *call = (struct task_call){.number = -1};
    long got = read_of(&waits->call_file, tid, "/syscall", text);
    if (got == -ESRCH)
        return TASK_GONE;
    if (got <= 0)
        return state_of(tid);
    if (text[0] == 'r')
        return TASK_RUNNING;
    const char *at = text;
    if (*at == '-') {
        at++;
        take_number(&at);
    } else {
        call->number = (int64_t)take_number(&at);
        for (int i = 0; i < 6; i++)
            call->arguments[i] = take_number(&at);
    }
    call->sp = take_number(&at);
    call->pc = take_number(&at);
    return TASK_BLOCKED;
}

void task_close(struct thread_waits *waits)
{
    close_kept(&waits->times_file);
    close_kept(&waits->call_file);
    close_kept(&waits->descriptors);
}

void task_forget(void)
{
    open_files = 0;
}

/* An anonymous inode has no type. `path`: relative to the directory. */
static enum wait_object anonymous(int directory, const char *path)
{
    char name[64] = "";
    SYS4(SYS_readlinkat, directory, path, name, sizeof name - 1);
    if (strstr(name, "[eventpoll]") != NULL)
        return OBJECT_EPOLL;
    if (strstr(name, "[eventfd]") != NULL)
        return OBJECT_EVENT;
    return strstr(name, "[timerfd]") != NULL ? OBJECT_TIMER : OBJECT_OTHER;
}

/* Open the directory of the thread's descriptors, and keep it open if there is room: from the root on, a look-up takes
 * three times as long as the rest of a sample's. Returns negative errno if it cannot be opened. */
static int open_descriptors(struct thread_waits *waits, pid_t tid)
{
    char path[64];
    if (waits->descriptors > 0)
        return waits->descriptors - 1;
    path_of(path, sizeof path, tid, "/fd");
    int directory = sys_open(path, O_PATH | O_DIRECTORY, 0);
    if (directory >= 0 && open_files < MOST_FILES) {
        waits->descriptors = directory + 1;
        open_files++;
    }
    return directory;
}

static enum wait_object object_in(int directory, int fd)
{
    char name[16] = "";
    uint16_t about[128] = {0};
    text_append_number(name, sizeof name, (uint64_t)fd, 1);
    if (SYS5(SYS_statx, directory, name, NO_SYNC | NO_AUTOMOUNT, WANT_TYPE, about) != 0)
        return OBJECT_NONE;
    switch (about[MODE_AT] & S_IFMT) {
    case S_IFREG:
        return OBJECT_FILE;
    case S_IFDIR:
        return OBJECT_DIRECTORY;
    case S_IFIFO:
        return OBJECT_PIPE;
    case S_IFSOCK:
        return OBJECT_SOCKET;
    case S_IFCHR:
        return OBJECT_CHARACTERS;
    case S_IFBLK:
        return OBJECT_BLOCKS;
    default:
        return anonymous(directory, name);
    }
}

enum wait_object task_object(struct thread_waits *waits, pid_t tid, int fd)
{
    int directory = fd >= 0 ? open_descriptors(waits, tid) : -1;
    if (directory < 0)
        return OBJECT_NONE;
    enum wait_object object = object_in(directory, fd);
    if (waits->descriptors == 0)
        sys_close(directory);
    return object;
}

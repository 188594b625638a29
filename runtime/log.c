/* Thread safety: all of it is written before main, or before the first message, and read from then on. Exceptions:
 * detached_tid and stderr_copy belong to the interval thread, which also fills `pending_line` while its atomic length
 * is 0; another thread empties that. No lock: a message is one write. */
#define _GNU_SOURCE
#include "log.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "fixed_text.h"
#include "libc.h"
#include "output.h"
#include "sys.h"

#define LONGEST_ABSENCE_NS ((uint64_t)1000000000)

static enum log_level current_level = LOG_WARN;
static const char *library_name = "";

/* stderr before main. A program may close it, and reuse its number for a file of its own; heartbeats start long after
 * that. */
static struct stat first_stderr;
static bool had_stderr;
static bool is_noted;
static long detached_tid;
static long keeper;              /* the process whose detached thread keeps a copy */
static int stderr_copy = -1;     /* that copy, in that thread's descriptor table */
static uint64_t absent_since_ns; /* time since which the program has no stderr, or 0 */

struct line {
    char text[512];
    size_t length;
};

static struct line pending_line; /* left by that thread for lack of a descriptor */

static __attribute__((constructor)) void note_first_stderr(void)
{
    if (is_noted)
        return;
    had_stderr = SYS2(SYS_fstat, 2, &first_stderr) == 0;
    is_noted = true;
}

void log_start(const char *library)
{
    library_name = library;
    note_first_stderr(); /* if another constructor needs it first */
}

void log_set_level(enum log_level level)
{
    current_level = level;
}

void log_keep_stderr(void)
{
    keeper = SYS0(SYS_getpid);
}

int log_copy_stderr(void)
{
    bool is_kept = keeper == SYS0(SYS_getpid);
    absent_since_ns = 0;
    __atomic_store_n(&pending_line.length, 0, __ATOMIC_RELAXED);
    stderr_copy = is_kept ? (int)SYS3(SYS_fcntl, 2, F_DUPFD_CLOEXEC, 3) : -1;
    return stderr_copy;
}

void log_detach(void)
{
    detached_tid = SYS0(SYS_gettid);
}

/* Return a descriptor of the application's stderr for a thread with its own table, or negative errno. */
static int borrow_stderr(void)
{
    int process = (int)SYS2(SYS_PIDFD_OPEN, SYS0(SYS_getpid), 0);
    int fd = process >= 0 ? (int)SYS3(SYS_PIDFD_GETFD, process, 2, 0) : process;
    if (process >= 0)
        sys_close(process);
    return fd >= 0 ? fd : sys_open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NOCTTY, 0);
}

static bool is_first_stderr(int fd)
{
    struct stat status;
    return had_stderr && SYS2(SYS_fstat, fd, &status) == 0 && status.st_dev == first_stderr.st_dev &&
           status.st_ino == first_stderr.st_ino;
}

void log_follow_stderr(void)
{
    struct stat status;
    if (stderr_copy < 0)
        return;
    bool is_there = SYS4(SYS_newfstatat, AT_FDCWD, "/proc/self/fd/2", &status, 0) == 0 &&
                    status.st_dev == first_stderr.st_dev && status.st_ino == first_stderr.st_ino;
    if (is_there || absent_since_ns == 0) {
        absent_since_ns = is_there ? 0 : monotonic_ns();
    } else if (monotonic_ns() - absent_since_ns >= LONGEST_ABSENCE_NS) {
        sys_close(stderr_copy);
        stderr_copy = -1;
    }
}

/* Return whether a terminal merely displays it: no control character, nor one that is invisible or changes the text
 * direction. */
static bool is_printable(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } acting[] = {
        {0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x180e, 0x180e},   {0x200b, 0x200f},
        {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
    };
    for (size_t i = 0; i < sizeof acting / sizeof *acting; i++)
        if (code >= acting[i].first && code <= acting[i].last)
            return false;
    return true;
}

/* Add whole characters of a text, which is not trusted: values and paths come from the program's environment. */
static void add(struct line *line, const char *text)
{
    while (*text != '\0') {
        size_t length;
        bool shown = is_printable(utf8_decode(text, &length));
        size_t taken = shown ? length : 1;
        if (line->length + taken > sizeof line->text - 1)
            return;
        memcpy(line->text + line->length, shown ? text : "?", taken);
        line->length += taken;
        text += length;
    }
}

static void write_line(int fd, const struct line *line)
{
    if (fd >= 0 && is_first_stderr(fd))
        SYS3(SYS_write, fd, line->text, line->length);
}

static bool store_pending(const struct line *line)
{
    if (__atomic_load_n(&pending_line.length, __ATOMIC_ACQUIRE) != 0)
        return false;
    memcpy(pending_line.text, line->text, line->length);
    __atomic_store_n(&pending_line.length, line->length, __ATOMIC_RELEASE);
    return true;
}

void log_write_pending(void)
{
    struct line line = {.length = __atomic_load_n(&pending_line.length, __ATOMIC_ACQUIRE)};
    size_t length = line.length;
    if (length == 0)
        return;
    memcpy(line.text, pending_line.text, length);
    struct quiet quiet = quiet_begin();
    if (__atomic_compare_exchange_n(&pending_line.length, &length, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        write_line(2, &line);
    quiet_end(quiet);
}

static bool log_line(enum log_level level, const char *what, const char *detail, const char *reason)
{
    if (level > current_level)
        return true;
    struct line line = {.length = 0};
    add(&line, library_name);
    add(&line, ": ");
    add(&line, what);
    if (detail != NULL) {
        add(&line, ": ");
        add(&line, detail);
    }
    if (reason != NULL) {
        add(&line, ": ");
        add(&line, reason);
    }
    line.text[line.length++] = '\n';
    struct quiet quiet = quiet_begin();
    bool detached = SYS0(SYS_gettid) == detached_tid;
    bool is_borrowed = detached && stderr_copy < 0;
    int fd = is_borrowed ? borrow_stderr() : detached ? stderr_copy : 2;
    write_line(fd, &line);
    if (is_borrowed && fd >= 0)
        sys_close(fd);
    quiet_end(quiet);
    return fd >= 0 || (detached && store_pending(&line));
}

bool log_warn(const char *what, const char *detail)
{
    return log_line(LOG_WARN, what, detail, NULL);
}

void log_debug(const char *what, const char *detail)
{
    log_line(LOG_DEBUG, what, detail, NULL);
}

void log_error(const char *what, const char *detail, long error)
{
    char number[32];
    log_line(LOG_WARN, what, detail, reason_of(error, number));
}

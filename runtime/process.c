#define _GNU_SOURCE
#include "launch.h"

#include <string.h>
#include <sys/utsname.h>

#include "fixed_text.h"
#include "sys.h"

#define LONGEST_COMMAND_LINE ((size_t)64 << 10)

/* Name a file in /proc. For this process it is the calling thread's, because the first thread may have ended. */
static void name_file(char *path, size_t size, pid_t pid, const char *name)
{
    path[0] = '\0';
    text_append(path, size, pid == 0 ? "/proc/thread-self" : "/proc/");
    if (pid != 0)
        text_append_number(path, size, (uint64_t)pid, 1);
    text_append(path, size, name);
}

static long read_file(pid_t pid, const char *name, void *data, size_t size)
{
    char path[64];
    name_file(path, sizeof path, pid, name);
    int fd = sys_open(path, O_RDONLY, 0);
    long got = fd >= 0 ? SYS3(SYS_read, fd, data, size) : 0;
    if (fd >= 0)
        sys_close(fd);
    return got > 0 ? got : 0;
}

size_t process_words(pid_t pid, char *words, size_t size)
{
    return (size_t)read_file(pid, "/cmdline", words, size);
}

bool process_runs(pid_t pid, const char *exe)
{
    static char target[PATH_MAX]; /* static, because the stack may be small */
    char path[64];
    name_file(path, sizeof path, pid, "/exe");
    long length = sys_readlink(path, target, sizeof target);
    return length == (long)strlen(exe) && memcmp(target, exe, (size_t)length) == 0;
}

static void put_argv(struct buffer *out, const struct launch *launch)
{
    struct buffer text = {0};
    if (buffer_reserve(&text, LONGEST_COMMAND_LINE + 1)) {
        text.length = process_words(launch->pid, (char *)text.data, LONGEST_COMMAND_LINE);
        text.data[text.length] = '\0';
    }
    buffer_json_key(out, "argv");
    buffer_u8(out, '[');
    for (size_t at = 0; at < text.length;) {
        const char *word = (const char *)text.data + at;
        if (at > 0)
            buffer_u8(out, ',');
        buffer_json_string(out, word);
        at += strlen(word) + 1;
    }
    buffer_u8(out, ']');
    buffer_free(&text);
}

static void put_place(struct buffer *out, const char *directory)
{
    struct utsname names;
    buffer_json_text(out, "cwd", directory[0] != '\0' ? directory : NULL);
    bool has_names = SYS1(SYS_uname, &names) == 0;
    buffer_json_text(out, "host", has_names ? names.nodename : NULL);
    buffer_json_text(out, "arch", has_names ? names.machine : NULL);
}

/* The parent follows the state, behind the name, which may contain any characters. */
pid_t process_parent(pid_t pid)
{
    char text[512];
    pid_t parent = 0;
    if (pid == 0)
        return (pid_t)SYS0(SYS_getppid);
    text[read_file(pid, "/stat", text, sizeof text - 1)] = '\0';
    const char *at = strrchr(text, ')');
    if (at != NULL && strlen(at) > 4)
        for (at += 4; *at >= '0' && *at <= '9'; at++)
            parent = parent * 10 + (*at - '0');
    return parent;
}

void process_json(struct buffer *out, const struct launch *launch, uint64_t start_ns, bool forked)
{
    buffer_json_text(out, "app", launch->app);
    buffer_json_text(out, "exe", launch->exe);
    put_argv(out, launch);
    put_place(out, launch->cwd);
    buffer_json_u64(out, "pid", (uint64_t)launch_pid(launch));
    buffer_json_u64(out, "ppid", (uint64_t)process_parent(launch->pid));
    buffer_json_u64(out, "rank", (uint64_t)launch->rank);
    buffer_json_key(out, "ranks");
    if (launch->ranks >= 0)
        buffer_decimal(out, (uint64_t)launch->ranks);
    else
        buffer_text(out, "null");
    buffer_json_text(out, "launch", launch->identity);
    uint64_t since_ns = sys_clock_ns(CLOCK_MONOTONIC) - start_ns;
    buffer_json_u64(out, "start_unix_ns", sys_clock_ns(CLOCK_REALTIME) - since_ns);
    buffer_json_u64(out, "start_mono_ns", start_ns);
    buffer_json_bool(out, "forked", forked);
}

#define _GNU_SOURCE
#include "process.h"

#include <string.h>
#include <sys/utsname.h>

#include "fixed_text.h"
#include "sys.h"

#define LONGEST_COMMAND_LINE ((size_t)64 << 10)

/* Of this process, that of the calling thread: the first one may have ended. */
static int open_file(const struct launch *launch, const char *name)
{
    char path[64] = "/proc/";
    if (launch->pid == 0)
        text_append(path, sizeof path, "thread-self");
    else
        text_append_number(path, sizeof path, (uint64_t)launch->pid, 1);
    text_append(path, sizeof path, name);
    return sys_open(path, O_RDONLY, 0);
}

static void put_argv(struct buffer *out, const struct launch *launch)
{
    struct buffer text = {0};
    int fd = open_file(launch, "/cmdline");
    if (fd >= 0 && buffer_reserve(&text, LONGEST_COMMAND_LINE + 1)) {
        long got = SYS3(SYS_read, fd, text.data, LONGEST_COMMAND_LINE);
        text.length = got > 0 ? (size_t)got : 0;
        text.data[text.length] = '\0';
    }
    if (fd >= 0)
        sys_close(fd);
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
    bool known = SYS1(SYS_uname, &names) == 0;
    buffer_json_text(out, "host", known ? names.nodename : NULL);
    buffer_json_text(out, "arch", known ? names.machine : NULL);
}

/* Behind the state, which follows the name, which may hold anything. */
static uint64_t parent_of(const struct launch *launch)
{
    char text[512];
    uint64_t parent = 0;
    int fd = launch->pid != 0 ? open_file(launch, "/stat") : -1;
    long got = fd >= 0 ? SYS3(SYS_read, fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        sys_close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *at = strrchr(text, ')');
    if (at != NULL && strlen(at) > 4)
        for (at += 4; *at >= '0' && *at <= '9'; at++)
            parent = parent * 10 + (uint64_t)(*at - '0');
    return parent;
}

void process_json(struct buffer *out, const struct launch *launch, uint64_t start_ns, bool forked)
{
    buffer_json_text(out, "app", launch_basename(launch->exe));
    buffer_json_text(out, "exe", launch->exe);
    put_argv(out, launch);
    put_place(out, launch->cwd);
    buffer_json_u64(out, "pid", (uint64_t)launch_pid(launch));
    buffer_json_u64(out, "ppid", launch->pid == 0 ? (uint64_t)SYS0(SYS_getppid) : parent_of(launch));
    buffer_json_u64(out, "rank", (uint64_t)launch->rank);
    buffer_json_key(out, "ranks");
    if (launch->ranks >= 0)
        buffer_decimal(out, (uint64_t)launch->ranks);
    else
        buffer_text(out, "null");
    buffer_json_text(out, "launch", launch->identity);
    buffer_json_u64(out, "start_unix_ns", sys_clock_ns(CLOCK_REALTIME));
    buffer_json_u64(out, "start_mono_ns", start_ns);
    buffer_json_bool(out, "forked", forked);
}

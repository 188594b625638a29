#define _GNU_SOURCE
#include "tasks.h"

#include <string.h>

#include "fixed_text.h"
#include "output.h"
#include "sys.h"

#define LEAST_ROOM 4096

/* Read all of it, usually by one read: the kernel generates the text at the first one. */
static bool read_all(int fd, struct buffer *text)
{
    long got = 1;
    while (got > 0 && buffer_reserve(text, LEAST_ROOM)) {
        got = SYS3(SYS_read, fd, text->data + text->length, text->capacity - text->length);
        text->length += got > 0 ? (size_t)got : 0;
    }
    return got == 0 && text->length > 0;
}

bool task_read(const char *path, struct buffer *text)
{
    char name[64] = "/proc/";
    text_append(name, sizeof name, path);
    text->length = 0;
    text->failed = false;
    int fd = sys_open(name, O_RDONLY, 0);
    if (fd < 0)
        return false;
    bool is_read = read_all(fd, text);
    sys_close(fd);
    buffer_u8(text, '\0');
    return is_read && !text->failed;
}

const char *task_field(const char *status, const char *word)
{
    size_t length = strlen(word);
    for (const char *line = status; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, word, length) == 0)
            return line + length + (line[length] == '\t');
    }
    return "";
}

bool task_has_ended(const char *status)
{
    char state = *task_field(status, "State:");
    return state == 'Z' || state == 'X';
}

static uint64_t hexadecimal(const char *text)
{
    uint64_t value = 0;
    for (; (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f'); text++)
        value = value << 4 | (uint64_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
    return value;
}

bool task_blocks_all(const char *status)
{
    return (hexadecimal(task_field(status, "SigBlk:")) & TASK_BLOCKED) == TASK_BLOCKED;
}

/* libc's threads, too, briefly block everything. */
bool task_is_worker(const char *status)
{
    static const char *const names[] = {"appekg\n", "incprof\n", WRITER_NAME "\n", "selfanalyze\n"};
    const char *name = task_field(status, "Name:");
    bool is_named = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is_named = is_named || strncmp(name, names[i], strlen(names[i])) == 0;
    return is_named && task_blocks_all(status);
}

/* Return whether the thread is not ours; false for one that no longer exists. */
static bool is_foreign(const char *tid, bool (*is_ours)(const char *tid, const char *status), struct buffer *text)
{
    char path[64] = "self/task/";
    text_append(path, sizeof path, tid);
    text_append(path, sizeof path, "/status");
    return task_read(path, text) && !is_ours(tid, (const char *)text->data);
}

/* Thread ids are those of the pid namespace of the /proc mount: /proc/self gives the first thread's. */
int task_find(bool (*is_ours)(const char *tid, const char *status), struct buffer *text)
{
    _Alignas(8) char entries[2048];
    char first[24] = "";
    bool is_there = false;
    int directory = sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0);
    long got = sys_readlink("/proc/self", first, sizeof first - 1) > 0 ? directory : -1;
    while (got >= 0 && !is_there && (got = SYS3(SYS_getdents64, directory, entries, sizeof entries)) > 0) {
        for (long at = 0; at < got && !is_there;) {
            const struct sys_directory_entry *entry = (const void *)(entries + at);
            is_there =
                entry->name[0] != '.' && strcmp(entry->name, first) != 0 && is_foreign(entry->name, is_ours, text);
            at += entry->length;
        }
    }
    if (directory >= 0)
        sys_close(directory);
    return is_there ? 1 : got < 0 ? -1 : 0;
}

/* The status is the last field of /proc/self/stat. */
int task_first_exit_code(struct buffer *text)
{
    const char *at = task_read("self/stat", text) ? strrchr((const char *)text->data, ' ') : NULL;
    int code = 0;
    for (at = at != NULL ? at + 1 : ""; *at >= '0' && *at <= '9'; at++)
        code = code * 10 + (*at - '0');
    return code;
}

#define _GNU_SOURCE
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

long text_read(int fd, char *into, size_t size)
{
    ssize_t got;
    do
        got = pread(fd, into, size - 1, 0);
    while (got < 0 && errno == EINTR);
    into[got > 0 ? got : 0] = '\0';
    return got < 0 ? -errno : got;
}

long text_read_all(int fd, char *into, size_t size)
{
    size_t at = 0;
    ssize_t got = 1;
    while (got != 0 && at < size - 1) {
        got = pread(fd, into + at, size - 1 - at, (off_t)at);
        if (got < 0 && errno != EINTR)
            return -errno;
        at += got > 0 ? (size_t)got : 0;
    }
    into[at] = '\0';
    return (long)at;
}

int text_open(int directory, const char *path)
{
    int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

uint64_t text_number(const char *text)
{
    uint64_t value = 0;
    while (*text == ' ' || *text == '\t')
        text++;
    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    return value;
}

const char *text_word(const char *text, int n)
{
    for (text += strspn(text, " \t\n"); n > 0 && *text != '\0'; n--) {
        text += strcspn(text, " \t\n");
        text += strspn(text, " \t\n");
    }
    return text;
}

const char *text_state(const char *stat)
{
    const char *end = strrchr(stat, ')');
    return end == NULL ? "" : text_word(end + 1, 0);
}

uint64_t text_value(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && (line[length] == ':' || line[length] == ' '))
            return text_number(line + length + 1);
    }
    return 0;
}

/* Waiting for the library's first interval, however slow the machine is. */
#ifndef ROBUST_WAIT_H
#define ROBUST_WAIT_H

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Whether an interval ends behind some text. The file may not be there yet, and is short. (The library shares no state
 * that shows it.) */
static inline int has_interval(const char *path, const char *behind)
{
    static char text[16384];
    int fd = open(path, O_RDONLY);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (fd >= 0)
        close(fd);
    char *from = got > 0 ? memmem(text, (size_t)got, behind, strlen(behind)) : NULL;
    return from != NULL && memmem(from, (size_t)(text + got - from), "#interval", 9) != NULL;
}

static inline void wait_for_interval_behind(const char *path, const char *behind)
{
    const struct timespec pause = {0, 1000000};
    while (!has_interval(path, behind))
        nanosleep(&pause, NULL);
}

static inline void wait_for_interval(const char *path)
{
    wait_for_interval_behind(path, "");
}

/* The first interval may end before the first beat. */
static inline void wait_for_beats(const char *path)
{
    wait_for_interval_behind(path, "#beat");
}

#endif

/* Waiting for the library's first interval, however slow the machine is. */
#ifndef ROBUST_WAIT_H
#define ROBUST_WAIT_H

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The file may not be there yet, and is short. (The library shares no state that tells.) */
static inline int has_interval(const char *path)
{
    static char text[16384];
    int fd = open(path, O_RDONLY);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (fd >= 0)
        close(fd);
    return got > 0 && memmem(text, (size_t)got, "#interval", 9) != NULL;
}

static inline void wait_for_interval(const char *path)
{
    const struct timespec pause = {0, 1000000};
    while (!has_interval(path))
        nanosleep(&pause, NULL);
}

#endif

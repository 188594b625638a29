#define _GNU_SOURCE
#include "maps.h"

#include "sys.h"

static bool read_file(struct buffer *text, const char *path)
{
    int fd = sys_open(path, O_RDONLY, 0);
    text->length = 0;
    if (fd < 0)
        return false;
    long got;
    do {
        if (!buffer_reserve(text, 65536))
            break;
        got = SYS3(SYS_read, fd, text->data + text->length, 65536);
        text->length += got > 0 ? (size_t)got : 0;
    } while (got > 0 || got == -EINTR);
    sys_close(fd);
    buffer_u8(text, '\0');
    return !text->failed;
}

/* The library is recognised by the address of this function. */
bool own_maps_hold_profiler(const struct mapping *mapping)
{
    uint64_t self = (uint64_t)(uintptr_t)&own_maps_read;
    return self >= mapping->start && self < mapping->end;
}

static bool shows_profiler(const struct buffer *text)
{
    struct mapping mapping;
    bool is_code;
    for (const char *line = (const char *)text->data; *line != '\0';) {
        line += maps_line_read(line, &mapping, &is_code);
        if (is_code && own_maps_hold_profiler(&mapping))
            return true;
    }
    return false;
}

/* /proc/self comes second: it is empty once the main thread has called pthread_exit. An emulator (qemu-user) shows the
 * program's memory only there, and its own elsewhere. */
bool own_maps_read(struct buffer *text)
{
    return (read_file(text, "/proc/thread-self/maps") && shows_profiler(text)) || read_file(text, "/proc/self/maps");
}

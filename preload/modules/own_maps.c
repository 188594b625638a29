#define _GNU_SOURCE
#include "modules.h"

#include "sys.h"

#define MOST_ANCHORS 4

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

/* Addresses in libraries that are preloaded beside this one; atomic. */
static uint64_t anchors[MOST_ANCHORS];

void own_maps_add_profiler(uint64_t address)
{
    uint64_t none = 0;
    for (size_t i = 0; i < MOST_ANCHORS; i++, none = 0)
        if (__atomic_compare_exchange_n(&anchors[i], &none, address, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return;
}

static bool holds(const struct mapping *mapping, uint64_t address)
{
    return address >= mapping->start && address < mapping->end;
}

/* The library is recognised by the address of this function. */
static bool holds_this(const struct mapping *mapping)
{
    return holds(mapping, (uint64_t)(uintptr_t)&own_maps_read);
}

bool own_maps_hold_profiler(const struct mapping *mapping)
{
    bool is_anchored = false;
    for (size_t i = 0; i < MOST_ANCHORS; i++)
        is_anchored |= holds(mapping, __atomic_load_n(&anchors[i], __ATOMIC_RELAXED));
    return is_anchored || holds_this(mapping);
}

static bool shows_profiler(const struct buffer *text)
{
    struct mapping mapping;
    bool is_code;
    for (const char *line = (const char *)text->data; *line != '\0';) {
        line += maps_line_read(line, &mapping, &is_code);
        if (is_code && holds_this(&mapping))
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

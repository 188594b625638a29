/* Thread safety: the collector's, under its lock.
 *
 * Energy of the processors' packages and of their memory, from the kernel's counters of RAPL, which most systems let
 * only root read. They count for the whole node. Where one zone cannot be read, none is used: a part would pass for the
 * whole. */
#define _GNU_SOURCE
#include <string.h>

#include "counters.h"
#include "fixed_text.h"
#include "sys.h"

#define ZONES "/sys/class/powercap/intel-rapl:"
enum { PACKAGES = 16, PARTS = 4, MOST_ZONES = PACKAGES * 2 };

enum zone_state { ZONE_MISSING, ZONE_SEEN, ZONE_DENIED };

static struct zone {
    int fd;
    uint64_t before_uj, range_uj;
} zones[MOST_ZONES];
static int count;
static bool is_open; /* the zones were looked for */

static uint64_t number_in(const char *text)
{
    uint64_t number = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        number = number * 10 + (uint64_t)(*text - '0');
    return number;
}

static bool read_line(int fd, char *text, size_t size)
{
    long got = fd >= 0 ? SYS4(SYS_pread64, fd, text, size - 1, 0) : -1;
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static int open_file(const char *zone, const char *file)
{
    char path[96] = "";
    text_append(path, sizeof path, zone);
    text_append(path, sizeof path, file);
    return sys_open(path, O_RDONLY, 0);
}

/* Read a file once. False if there is none. */
static bool line_of(const char *zone, const char *file, char *text, size_t size)
{
    int fd = open_file(zone, file);
    bool has_line = read_line(fd, text, size);
    if (fd >= 0)
        sys_close(fd);
    return has_line;
}

/* Open a zone if there is one, and if it counts: `psys` and parts other than memory count what packages count as well.
 * Zones are numbered without gaps, so that none comes after a missing one. */
static enum zone_state open_zone(const char *zone, bool is_part)
{
    char text[64];
    if (!line_of(zone, "/name", text, sizeof text))
        return ZONE_MISSING;
    if ((is_part ? strncmp(text, "dram", 4) != 0 : strncmp(text, "package", 7) != 0) || count == MOST_ZONES)
        return ZONE_SEEN;
    struct zone *next = &zones[count];
    next->range_uj = line_of(zone, "/max_energy_range_uj", text, sizeof text) ? number_in(text) : 0;
    next->fd = open_file(zone, "/energy_uj");
    if (next->fd < 0)
        return ZONE_DENIED;
    count++;
    if (!read_line(next->fd, text, sizeof text))
        return ZONE_DENIED;
    next->before_uj = number_in(text);
    return ZONE_SEEN;
}

/* Open the zones that are numbered from 0 on, below a zone or at the top. False if one cannot be read. */
static bool open_numbered(const char *above, bool is_part)
{
    bool is_readable = true;
    for (uint64_t number = 0; number < (is_part ? PARTS : PACKAGES); number++) {
        char zone[64] = "";
        text_append(zone, sizeof zone, above);
        text_append_number(zone, sizeof zone, number, 1);
        enum zone_state state = open_zone(zone, is_part);
        if (state == ZONE_MISSING)
            break;
        is_readable &= state != ZONE_DENIED;
        text_append(zone, sizeof zone, ":");
        is_readable &= is_part || open_numbered(zone, true);
    }
    return is_readable;
}

static void open_zones(void)
{
    is_open = true;
    count = 0;
    if (!open_numbered(ZONES, false))
        energy_close();
    is_open = true;
}

bool energy_take(uint64_t *uj)
{
    char text[64];
    bool is_first = !is_open;
    if (is_first)
        open_zones();
    *uj = 0;
    for (int i = 0; i < count; i++) {
        if (!read_line(zones[i].fd, text, sizeof text))
            return false;
        uint64_t now_uj = number_in(text), before_uj = zones[i].before_uj;
        *uj += now_uj >= before_uj ? now_uj - before_uj : now_uj + zones[i].range_uj - before_uj;
        zones[i].before_uj = now_uj;
    }
    return count > 0 && !is_first;
}

void energy_close(void)
{
    for (int i = 0; is_open && i < count; i++)
        sys_close(zones[i].fd);
    count = 0;
    is_open = false;
}

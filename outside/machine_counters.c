#define _GNU_SOURCE
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_PROCESSORS 8192
#define MOST_DISKS 4096
#define SECTOR 512 /* /proc's unit, independent of the disk */

/* Large, because /proc/stat lists all interrupts, which are not used, after the processors. */
static char text[1 << 20];
static uint64_t busy_before[MOST_PROCESSORS];
static struct {
    uint64_t number;
    bool is_counted;
} disks[MOST_DISKS]; /* by the position of their lines */

/* Read a line per interface: name, bytes and packets received, and the same sent seven numbers later. Returns whether
 * there is one except lo. */
static bool read_network(double *values)
{
    static const int words[] = {[RECEIVED_BYTES] = 0, [RECEIVED_PACKETS] = 1, [SENT_BYTES] = 8, [SENT_PACKETS] = 9};
    bool has_interface = false;
    for (int field = RECEIVED_BYTES; field <= LOOPBACK_BYTES; field++)
        values[field] = 0;
    for (char *line = strchr(text, '\n'); line != NULL; line = strchr(line, '\n')) {
        line++;
        const char *name = line + strspn(line, " ");
        const char *colon = strchr(name, ':');
        if (colon == NULL || memchr(name, '\n', (size_t)(colon - name)) != NULL)
            continue;
        if (strncmp(name, "lo:", 3) == 0) {
            values[LOOPBACK_BYTES] = (double)text_number(text_word(colon + 1, 8));
            continue;
        }
        has_interface = true;
        for (int field = RECEIVED_BYTES; field <= SENT_PACKETS; field++)
            values[field] += (double)text_number(text_word(colon + 1, words[field]));
    }
    return has_interface;
}

/* Read "user nice system idle iowait irq softirq steal": all except idle, iowait and steal is work. */
static bool read_processors(double *values)
{
    double ns_per_tick = 1e9 / (double)sysconf(_SC_CLK_TCK);
    values[ACTIVE_CPUS] = 0;
    values[INTERRUPTS] = (double)text_value(text, "intr");
    values[SWITCHES] = (double)text_value(text, "ctxt");
    size_t processor = 0;
    for (const char *line = text; strncmp(line, "cpu", 3) == 0; line = strchr(line, '\n') + 1) {
        uint64_t ticks[8];
        const char *word = text_word(line, 1);
        for (int i = 0; i < 8; i++, word = text_word(word, 1))
            ticks[i] = text_number(word);
        uint64_t user = ticks[0] + ticks[1], busy = user + ticks[2] + ticks[5] + ticks[6];
        if (line[3] == ' ') {
            values[CPU_NS] = (double)busy * ns_per_tick;
            values[USER_NS] = (double)user * ns_per_tick;
            values[SYSTEM_NS] = (double)(busy - user) * ns_per_tick;
            values[WAITING_FOR_IO_NS] = (double)ticks[4] * ns_per_tick;
        } else if (processor < MOST_PROCESSORS) {
            values[ACTIVE_CPUS] += busy > busy_before[processor];
            busy_before[processor++] = busy;
        }
        if (strchr(line, '\n') == NULL)
            break;
    }
    return true;
}

/* Read "0.50 0.30 0.20 2/345 6789". One of the running processes is the sampler, which some containers do not count. */
static bool read_queue(double *values)
{
    uint64_t running = text_number(text_word(text, 3));
    values[RUN_QUEUE] = running > 0 ? (double)(running - 1) : 0;
    return true;
}

static bool read_memory(double *values)
{
    uint64_t all = text_value(text, "MemTotal"), left = text_value(text, "MemAvailable");
    values[MEMORY_BYTES] = all > left ? (double)(all - left) * 1024 : 0;
    return true;
}

static bool read_faults(double *values)
{
    values[FAULTS] = (double)text_value(text, "pgfault");
    values[MAJOR_FAULTS] = (double)text_value(text, "pgmajfault");
    return true;
}

/* Return whether the device is a disk. Partitions, and devices composed of disks or memory, are excluded: they are
 * counted with those. */
static bool is_disk(const char *name, size_t length)
{
    char path[300];
    if (length > 255)
        return false;
    int put = snprintf(path, sizeof path, "/sys/block/%.*s/device", (int)length, name);
    for (char *at = path + 11; at < path + put - 7; at++)
        if (*at == '/')
            *at = '!';
    return access(path, F_OK) == 0;
}

/* Read "254 0 vda READS MERGED SECTORS ms WRITES MERGED SECTORS ...". Returns whether there is a disk. */
static bool read_disks(double *values)
{
    bool has_disk = false;
    uint64_t sectors_read = 0, sectors_written = 0;
    size_t at = 0;
    for (const char *line = text; *line != '\0' && at < MOST_DISKS; at++) {
        const char *end = strchrnul(line, '\n'), *name = text_word(line, 2);
        uint64_t number = 1 + (text_number(text_word(line, 0)) << 20) + text_number(text_word(line, 1));
        if (disks[at].number != number) {
            disks[at].number = number;
            disks[at].is_counted = name < end && is_disk(name, strcspn(name, " \n"));
        }
        if (disks[at].is_counted) {
            has_disk = true;
            sectors_read += text_number(text_word(name, 3));
            sectors_written += text_number(text_word(name, 7));
        }
        line = *end == '\0' ? end : end + 1;
    }
    values[DISK_READ_BYTES] = (double)sectors_read * SECTOR;
    values[DISK_WRITTEN_BYTES] = (double)sectors_written * SECTOR;
    return has_disk;
}

/* Parsers of the files' texts into their fields. False: there is no such device. */
static struct file {
    const char *path;
    bool (*read)(double *);
    int fd;
} files[] = {
    {"/proc/stat", read_processors, -1}, {"/proc/loadavg", read_queue, -1}, {"/proc/net/dev", read_network, -1},
    {"/proc/diskstats", read_disks, -1}, {"/proc/vmstat", read_faults, -1}, {"/proc/meminfo", read_memory, -1},
};

static struct file *file_of(enum field field)
{
    /* 1 + the index of the file that has the field; 0: none has. */
    static const unsigned char numbers[FIELDS] = {
        [CPU_NS] = 1,     [USER_NS] = 1,      [SYSTEM_NS] = 1,      [ACTIVE_CPUS] = 1,     [WAITING_FOR_IO_NS] = 1,
        [INTERRUPTS] = 1, [SWITCHES] = 1,     [RUN_QUEUE] = 2,      [RECEIVED_BYTES] = 3,  [RECEIVED_PACKETS] = 3,
        [SENT_BYTES] = 3, [SENT_PACKETS] = 3, [LOOPBACK_BYTES] = 3, [DISK_READ_BYTES] = 4, [DISK_WRITTEN_BYTES] = 4,
        [FAULTS] = 5,     [MAJOR_FAULTS] = 5, [MEMORY_BYTES] = 6,
    };
    return field < FIELDS && numbers[field] > 0 ? &files[numbers[field] - 1] : NULL;
}

const char *machine_file(enum field field)
{
    const struct file *file = file_of(field);
    return file != NULL ? file->path : NULL;
}

int machine_probe(enum field field)
{
    double ignored[FIELDS];
    struct file *file = file_of(field);
    if (file->fd < 0)
        file->fd = text_open(AT_FDCWD, file->path);
    if (file->fd < 0)
        return file->fd;
    long got = text_read_all(file->fd, text, sizeof text);
    if (got < 0)
        return (int)got;
    return file->read(ignored) || field == LOOPBACK_BYTES ? 0 : -ENODEV;
}

void machine_read(double *values)
{
    for (struct file *file = files; file < files + sizeof files / sizeof *files; file++)
        if (file->fd >= 0 && text_read_all(file->fd, text, sizeof text) > 0)
            file->read(values);
}

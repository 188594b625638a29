#define _GNU_SOURCE
#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

#define MOST_PROCESSORS 8192

/* /proc/stat lists all interrupts behind the processors, of which nothing is wanted. */
static char text[1 << 20];
static int stat_fd = -1, queue_fd = -1, network_fd = -1;
static uint64_t busy_before[MOST_PROCESSORS];

const char *machine_file(enum field field)
{
    switch (field) {
    case CPU_NS:
    case USER_NS:
    case SYSTEM_NS:
    case ACTIVE_CPUS:
        return "/proc/stat";
    case RUN_QUEUE:
        return "/proc/loadavg";
    case RECEIVED_BYTES:
    case SENT_BYTES:
        return "/proc/net/dev";
    default:
        return NULL;
    }
}

static int *file_of(enum field field)
{
    const char *path = machine_file(field);
    return path[6] == 's' ? &stat_fd : path[6] == 'l' ? &queue_fd : &network_fd;
}

/* A line for each interface: name: bytes received, and seven numbers on, bytes sent. Whether there is one but lo. */
static bool read_network(double *values)
{
    bool found = false;
    uint64_t received = 0, sent = 0;
    for (char *line = strchr(text, '\n'); line != NULL; line = strchr(line, '\n')) {
        line++;
        const char *name = line + strspn(line, " ");
        const char *colon = strchr(name, ':');
        if (colon == NULL || strncmp(name, "lo:", 3) == 0 || memchr(name, '\n', (size_t)(colon - name)) != NULL)
            continue;
        found = true;
        received += text_number(text_word(colon + 1, 0));
        sent += text_number(text_word(colon + 1, 8));
    }
    values[RECEIVED_BYTES] = (double)received;
    values[SENT_BYTES] = (double)sent;
    return found;
}

/* user nice system idle iowait irq softirq steal: all but idle, iowait and steal is work. */
static void read_processors(double *values)
{
    double ns_per_tick = 1e9 / (double)sysconf(_SC_CLK_TCK);
    values[ACTIVE_CPUS] = 0;
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
        } else if (processor < MOST_PROCESSORS) {
            values[ACTIVE_CPUS] += busy > busy_before[processor];
            busy_before[processor++] = busy;
        }
        if (strchr(line, '\n') == NULL)
            break;
    }
}

/* "0.50 0.30 0.20 2/345 6789": of those that run, one is the sampler, which some containers do not count. */
static void read_queue(double *values)
{
    uint64_t running = text_number(text_word(text, 3));
    values[RUN_QUEUE] = running > 0 ? (double)(running - 1) : 0;
}

int machine_probe(enum field field)
{
    double ignored[FIELDS];
    int *fd = file_of(field);
    if (*fd < 0)
        *fd = text_open(AT_FDCWD, machine_file(field));
    if (*fd < 0)
        return *fd;
    long got = text_read(*fd, text, sizeof text);
    if (got < 0)
        return (int)got;
    return fd == &network_fd && !read_network(ignored) ? -ENODEV : 0;
}

void machine_read(double *values)
{
    if (stat_fd >= 0 && text_read(stat_fd, text, sizeof text) > 0)
        read_processors(values);
    if (network_fd >= 0 && text_read(network_fd, text, sizeof text) > 0)
        read_network(values);
    if (queue_fd >= 0 && text_read(queue_fd, text, 128) > 0)
        read_queue(values);
}

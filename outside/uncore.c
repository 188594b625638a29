#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf_counter.h"
#include "proc.h"

static const char *root = "/sys";

void uncore_below(const char *sysfs)
{
    root = sysfs;
}

/* Read the first line of a file of a device. False if there is none. */
static bool line_of(const char *device, const char *file, char *text, size_t size)
{
    char path[600];
    int length = snprintf(path, sizeof path, "%s/bus/event_source/devices/%.200s/%s", root, device, file);
    int fd = length < (int)sizeof path ? text_open(AT_FDCWD, path) : -1;
    long got = fd < 0 ? fd : text_read(fd, text, size);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? strcspn(text, "\n") : 0] = '\0';
    return text[0] != '\0';
}

static uint64_t number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    return at == NULL ? 0 : strtoull(at + strlen(word), NULL, 0);
}

/* Return whether a device is a memory controller, with the number of its event. Intel's have a file of it. AMD's count
 * commands of columns (perf's amdzen4/memory-controller.json), reads with mask 1, writes with mask 2. */
static bool config_of(const char *device, bool is_write, uint64_t *config)
{
    char text[128];
    if (strncmp(device, "amd_umc_", 8) == 0) {
        *config = 0x0a | (is_write ? 2u : 1u) << 8;
        return true;
    }
    if (strncmp(device, "uncore_imc", 10) != 0 ||
        !line_of(device, is_write ? "events/cas_count_write" : "events/cas_count_read", text, sizeof text))
        return false;
    *config = number_after(text, "event=") | number_after(text, "umask=") << 8;
    return true;
}

/* Open the counters of a device, on the one processor of each socket that its mask names, such as "0,18". */
static int add_device(struct perf_counter *counter, const char *device, uint64_t config)
{
    char type[32], mask[256];
    if (!line_of(device, "type", type, sizeof type) || !line_of(device, "cpumask", mask, sizeof mask))
        return 0;
    int error = 0;
    for (const char *at = mask; error == 0 && *at >= '0' && *at <= '9'; at += *at == ',') {
        error = counter_add_processor(counter, (uint32_t)strtoul(type, NULL, 10), config, atoi(at));
        at += strcspn(at, ",");
    }
    return error;
}

int uncore_open(struct perf_counter *counter, bool is_write)
{
    char path[512];
    *counter = (struct perf_counter){0};
    int length = snprintf(path, sizeof path, "%s/bus/event_source/devices", root);
    DIR *directory = length < (int)sizeof path ? opendir(path) : NULL;
    if (directory == NULL)
        return -ENODEV;
    int error = 0;
    uint64_t config;
    for (struct dirent *entry; error == 0 && (entry = readdir(directory)) != NULL;)
        if (config_of(entry->d_name, is_write, &config))
            error = add_device(counter, entry->d_name, config);
    closedir(directory);
    if (error == 0 && counter->count == 0)
        error = -ENODEV;
    if (error != 0)
        counter_close(counter);
    return error;
}

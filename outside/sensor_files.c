#define _GNU_SOURCE
#include "sensors.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"

#define MICRO 1e-6
#define MOST_CHANNELS 64

bool sensor_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end > text && isfinite(*value) && fabs(*value) < 1e24;
}

void sensor_name(struct sensor *sensors, size_t at, const char *name)
{
    char plain[40];
    size_t length = 0;
    for (; *name != '\0' && length < sizeof plain - 1; name++) {
        char sign = (char)(isalnum((unsigned char)*name) ? tolower((unsigned char)*name) : *name == '.' ? '.' : '-');
        if (sign != '-' || (length > 0 && plain[length - 1] != '-'))
            plain[length++] = sign;
    }
    while (length > 0 && plain[length - 1] == '-')
        length--;
    plain[length] = '\0';
    for (int number = 1;; number++) {
        char *into = sensors[at].name;
        bool is_taken = false;
        if (sensors[at].form == FORM_NONE)
            snprintf(into, sizeof sensors[at].name, "%s", plain);
        else if (number == 1)
            snprintf(into, sizeof sensors[at].name, "%s-watts", plain);
        else
            snprintf(into, sizeof sensors[at].name, "%s-%d-watts", plain, number);
        for (size_t i = 0; i < at; i++)
            is_taken |= strcmp(sensors[i].name, into) == 0;
        if (!is_taken)
            return;
    }
}

/* Read the first line of a file below a directory. False if there is no file, or it is empty. */
__attribute__((format(printf, 3, 4))) static bool line_of(char *text, size_t size, const char *format, ...)
{
    char path[512];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(path, sizeof path, format, list);
    va_end(list);
    int fd = length < (int)sizeof path ? text_open(AT_FDCWD, path) : -1;
    long got = fd < 0 ? fd : text_read(fd, text, size);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? strcspn(text, "\n") : 0] = '\0';
    return got > 0 && text[0] != '\0';
}

__attribute__((format(printf, 2, 3))) static bool set_path(char path[256], const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(path, 256, format, list);
    va_end(list);
    return length < 256 && access(path, F_OK) == 0;
}

/* intel-rapl:0 is a package or the whole system (psys), intel-rapl:0:1 a part of package 0; intel-rapl-mmio:0 is the
 * same package, read through another interface. */
static void add_zone(const char *directory, const char *entry, sensor_maker *make)
{
    char own[40], parent[40] = "", text[64], name[100], path[256];
    if (strncmp(entry, "intel-rapl:", 11) != 0 || !set_path(path, "%s/%s/energy_uj", directory, entry))
        return;
    if (!line_of(own, sizeof own, "%s/%s/name", directory, entry))
        return;
    const char *part = strchr(entry + 11, ':');
    if (part != NULL)
        line_of(parent, sizeof parent, "%s/%.*s/name", directory, (int)(part - entry), entry);
    snprintf(name, sizeof name, "rapl-%s%s%s", parent, parent[0] != '\0' ? "-" : "", own);
    struct sensor *sensor = make(FORM_ENERGY, name);
    if (sensor == NULL)
        return;
    strcpy(sensor->paths[0], path);
    sensor->scale = MICRO;
    sensor->range = 0x1p64;
    if (line_of(text, sizeof text, "%s/%s/max_energy_range_uj", directory, entry))
        sensor_number(text, &sensor->range);
    if (strcmp(own, "psys") == 0)
        strcpy(sensor->note, "the whole system, as its manufacturer wired the sensor");
    else if (part != NULL && strcmp(own, "dram") != 0)
        snprintf(sensor->note, sizeof sensor->note, "a part of %s", parent);
}

static void add_channel(const char *directory, const char *entry, const char *chip, int channel, sensor_maker *make)
{
    static const struct {
        const char *kind, *file;
        enum form form;
    } files[] = {{"power", "input", FORM_POWER}, {"power", "average", FORM_POWER}, {"energy", "input", FORM_ENERGY}};
    char path[256], label[40], name[100];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!set_path(path, "%s/%s/%s%d_%s", directory, entry, files[i].kind, channel, files[i].file))
            continue;
        if (!line_of(label, sizeof label, "%s/%s/%s%d_label", directory, entry, files[i].kind, channel))
            snprintf(label, sizeof label, "%s%d", files[i].kind, channel);
        snprintf(name, sizeof name, "hwmon-%s-%s", chip, label);
        struct sensor *sensor = make(files[i].form, name);
        if (sensor == NULL)
            return;
        strcpy(sensor->paths[0], path);
        sensor->scale = MICRO;
        sensor->range = 0x1p64;
        if (strcmp(chip, "power_meter") == 0)
            strcpy(sensor->note, "the whole machine, as ACPI reports");
        return;
    }
}

static void add_chip(const char *directory, const char *entry, sensor_maker *make)
{
    char chip[40];
    if (!line_of(chip, sizeof chip, "%s/%s/name", directory, entry))
        snprintf(chip, sizeof chip, "%.30s", entry);
    for (int channel = 1; channel <= MOST_CHANNELS; channel++)
        add_channel(directory, entry, chip, channel, make);
}

/* Some supplies report watts, others volts and amperes. */
static void add_supply(const char *directory, const char *entry, sensor_maker *make)
{
    char text[40], name[80], status[256], first[256], second[256] = "";
    if (!line_of(text, sizeof text, "%s/%s/type", directory, entry) || strcmp(text, "Battery") != 0)
        return;
    /* A peripheral's battery, such as a mouse's. */
    if (line_of(text, sizeof text, "%s/%s/scope", directory, entry) && strcmp(text, "Device") == 0)
        return;
    bool has_power = set_path(first, "%s/%s/power_now", directory, entry);
    if (!set_path(status, "%s/%s/status", directory, entry) ||
        (!has_power && (!set_path(first, "%s/%s/current_now", directory, entry) ||
                        !set_path(second, "%s/%s/voltage_now", directory, entry))))
        return;
    snprintf(name, sizeof name, "battery-%.40s", entry);
    struct sensor *sensor = make(FORM_BATTERY, name);
    if (sensor == NULL)
        return;
    strcpy(sensor->paths[0], status);
    strcpy(sensor->paths[1], first);
    strcpy(sensor->paths[2], second);
    sensor->scale = has_power ? MICRO : MICRO * MICRO;
    strcpy(sensor->note, "the whole machine while it runs on battery, else nothing");
}

/* "power" is the node, "cpu_power", "memory_power", "accel0_power" are parts: "212 W 1700000000000000 us". */
static void add_counter(const char *directory, const char *entry, sensor_maker *make)
{
    size_t length = strlen(entry);
    char name[80], path[256];
    bool is_node = strcmp(entry, "power") == 0;
    if (!is_node && (length < 7 || strcmp(entry + length - 6, "_power") != 0))
        return;
    if (!set_path(path, "%s/%s", directory, entry))
        return;
    snprintf(name, sizeof name, "cray-%.*s", is_node ? 4 : (int)(length - 6), is_node ? "node" : entry);
    struct sensor *sensor = make(FORM_POWER, name);
    if (sensor == NULL)
        return;
    strcpy(sensor->paths[0], path);
    sensor->scale = 1;
    if (is_node)
        strcpy(sensor->note, "the whole node");
}

const struct sensor_directory sensor_directories[SENSOR_DIRECTORIES] = {
    {"rapl", "class/powercap", add_zone},
    {"hwmon", "class/hwmon", add_chip},
    {"battery", "class/power_supply", add_supply},
    {"cray", "cray/pm_counters", add_counter},
};

void sensor_files_find(const struct sensor_directory *kind, const char *sysfs, sensor_maker *make)
{
    char directory[200];
    snprintf(directory, sizeof directory, "%s/%s", sysfs, kind->path);
    struct dirent **entries;
    int count = scandir(directory, &entries, NULL, versionsort);
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.')
            kind->visit_entry(directory, entries[i]->d_name, make);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

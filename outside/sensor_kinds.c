#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sensors.h"

static struct sensor sensors[MOST_SENSORS];
static struct command commands[MOST_SENSORS];
static size_t sensor_count;

static struct sensor *new_sensor(enum form form, const char *name)
{
    if (sensor_count == MOST_SENSORS)
        return NULL;
    struct sensor *sensor = &sensors[sensor_count];
    *sensor = (struct sensor){.form = form, .fds = {-1, -1, -1}};
    sensor_name(sensors, sensor_count, name);
    sensor->event = (struct event){
        .name = sensor->name,
        .kind = form == FORM_ENERGY ? ENERGY : WATTS,
        .source = FROM_SENSOR,
        .config = sensor_count++,
        .description = form == FORM_COMMAND ? "printed by a command" : "a power sensor",
    };
    return sensor;
}

static void find_none(const char *kind)
{
    new_sensor(FORM_NONE, kind);
}

static bool is_executable_named(const char *name)
{
    char path[PATH_MAX];
    const char *at = getenv("PATH");
    for (size_t length; at != NULL && *at != '\0'; at += length + (at[length] == ':')) {
        length = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)length, at, name);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

static void find_command(const char *name, const char *line)
{
    struct sensor *sensor = new_sensor(FORM_COMMAND, name);
    if (sensor != NULL) {
        sensor->command = &commands[sensor->event.config];
        *sensor->command = (struct command){.line = line};
    }
}

/* Find IPMI. On a machine without a BMC the query takes long, and prints many lines. */
static void find_ipmi(bool is_named)
{
    bool has_device = access("/dev/ipmi0", F_OK) == 0 || access("/dev/ipmi/0", F_OK) == 0;
    if (is_executable_named("ipmitool") && (has_device || is_named))
        find_command("ipmi", "exec ipmitool dcmi power reading");
    else
        find_none("ipmi");
}

static void find_files(const struct sensor_directory *kind, const char *sysfs)
{
    size_t before = sensor_count;
    sensor_files_find(kind, sysfs, new_sensor);
    if (sensor_count == before)
        find_none(kind->name);
}

/* Find the sensors of a kind. False if there is no such kind. */
static bool find_kind(const char *name, size_t length, const char *sysfs)
{
    bool is_auto = length == 4 && strncmp(name, "auto", 4) == 0, is_known = is_auto;
    for (const struct sensor_directory *kind = sensor_directories; kind < sensor_directories + SENSOR_DIRECTORIES;
         kind++)
        if (is_auto || (strlen(kind->name) == length && strncmp(name, kind->name, length) == 0)) {
            find_files(kind, sysfs);
            is_known = true;
        }
    bool is_ipmi = length == 4 && strncmp(name, "ipmi", 4) == 0;
    if (is_auto || is_ipmi)
        find_ipmi(is_ipmi);
    return is_known || is_ipmi || (length == 4 && strncmp(name, "none", 4) == 0);
}

/* NAME=COMMAND */
static bool find_given(const char *given)
{
    static char names[MOST_SENSORS][40];
    size_t length = strcspn(given, "=");
    if (length == 0 || length >= sizeof *names || given[length] == '\0' || given[length + 1] == '\0')
        return false;
    if (sensor_count < MOST_SENSORS) {
        snprintf(names[sensor_count], sizeof *names, "%.*s", (int)length, given);
        find_command(names[sensor_count], given + length + 1);
    }
    return true;
}

const char *sensors_find(const struct sensors_wanted *wanted, const struct event **chosen, size_t *count)
{
    for (const char *at = wanted->kinds; *at != '\0';) {
        size_t length = strcspn(at, ",");
        if (!find_kind(at, length, wanted->sysfs))
            return at;
        at += length + (at[length] == ',');
    }
    for (size_t i = 0; i < wanted->count; i++)
        if (!find_given(wanted->commands[i]))
            return wanted->commands[i];
    for (size_t i = 0; i < sensor_count && *count < MOST_COLUMNS; i++)
        chosen[(*count)++] = &sensors[i].event;
    return NULL;
}

struct sensor *sensor_at(size_t number)
{
    return number < sensor_count ? &sensors[number] : NULL;
}

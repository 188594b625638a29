#define _GNU_SOURCE
#include "sensors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "refusal.h"
#include "sensor_files.h"
#include "sys.h"
#include "text.h"

#define SECOND_NS 1000000000u
#define FIRST_NS (5ull * SECOND_NS)
/* No part of a node takes more: an energy counter that seems to have gone round so fast was reset. */
#define MOST_WATTS 1e4

static struct sensor sensors[MOST_SENSORS];
static struct command commands[MOST_SENSORS];
static size_t found;

static struct sensor *new_sensor(enum form form, const char *name)
{
    if (found == MOST_SENSORS)
        return NULL;
    struct sensor *sensor = &sensors[found];
    *sensor = (struct sensor){.form = form, .fds = {-1, -1, -1}};
    sensor_name(sensors, found, name);
    sensor->event = (struct event){
        .name = sensor->name,
        .kind = form == FORM_ENERGY ? ENERGY : WATTS,
        .source = FROM_SENSOR,
        .config = found++,
        .says = form == FORM_COMMAND ? "printed by a command" : "a power sensor",
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
    if (sensor != NULL)
        commands[sensor->event.config] = (struct command){.line = line};
}

/* Asking a machine without a BMC takes long, and says so in many lines. */
static void find_ipmi(bool is_named)
{
    bool has_device = access("/dev/ipmi0", F_OK) == 0 || access("/dev/ipmi/0", F_OK) == 0;
    if (is_executable_named("ipmitool") && (has_device || is_named))
        find_command("ipmi", "exec ipmitool dcmi power reading");
    else
        find_none("ipmi");
}

static const struct {
    const char *name;
    void (*find)(const char *sysfs, sensor_maker *make);
} kinds[] = {{"rapl", find_rapl}, {"hwmon", find_hwmon}, {"battery", find_battery}, {"cray", find_cray}};

#define KINDS (sizeof kinds / sizeof *kinds)

static void find_files(size_t kind, const char *sysfs)
{
    size_t before = found;
    kinds[kind].find(sysfs, new_sensor);
    if (found == before)
        find_none(kinds[kind].name);
}

/* False if there is no such kind. */
static bool find_kind(const char *name, size_t length, const char *sysfs)
{
    bool is_auto = length == 4 && strncmp(name, "auto", 4) == 0, is_known = is_auto;
    for (size_t kind = 0; kind < KINDS; kind++)
        if (is_auto || (strlen(kinds[kind].name) == length && strncmp(name, kinds[kind].name, length) == 0)) {
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
    if (found < MOST_SENSORS) {
        snprintf(names[found], sizeof *names, "%.*s", (int)length, given);
        find_command(names[found], given + length + 1);
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
    for (size_t i = 0; i < found && *count < MOST_COLUMNS; i++)
        chosen[(*count)++] = &sensors[i].event;
    return NULL;
}

static int open_files(struct sensor *sensor, const char **path)
{
    for (size_t i = 0; i < sizeof sensor->fds / sizeof *sensor->fds && sensor->paths[i][0] != '\0'; i++) {
        char text[64];
        sensor->fds[i] = text_open(AT_FDCWD, sensor->paths[i]);
        long got = sensor->fds[i] < 0 ? sensor->fds[i] : text_read(sensor->fds[i], text, sizeof text);
        /* Firmware that is busy, or a battery that is not told of yet: later. */
        *path = sensor->paths[i];
        if (got < 0 && got != -EAGAIN && got != -ENODATA && got != -ETIMEDOUT && got != -EBUSY)
            return (int)got;
    }
    return 0;
}

static void open_command(struct command *command, char *why, size_t size)
{
    if (command_wait_for_first(command, FIRST_NS))
        return;
    if (command->pid > 0)
        snprintf(why, size, "'%.60s' has printed no watts for 5 s", command->line);
    else
        snprintf(why, size, "'%.50s' prints no watts: %.80s", command->line,
                 command->said[0] != '\0' ? command->said : "nothing");
    command_stop(command);
}

void sensor_open(size_t number, char *why, size_t why_size, char *note, size_t note_size)
{
    struct sensor *sensor = &sensors[number];
    const char *path = "";
    int error;
    snprintf(note, note_size, "%s", sensor->note);
    if (sensor->form == FORM_NONE) {
        snprintf(why, why_size, "this machine tells of no power of that kind");
    } else if (sensor->form == FORM_COMMAND) {
        open_command(&commands[number], why, why_size);
        snprintf(note, note_size, "the last reading of '%.80s', up to 10 s old", commands[number].line);
    } else if ((error = open_files(sensor, &path)) != 0) {
        refusal_of_file(why, why_size, error, path);
        if (error == -EACCES && sensor->form == FORM_ENERGY)
            snprintf(why, why_size, "%.100s is for root only (since Linux 5.10)", path);
    }
}

static bool read_number(int fd, double *value)
{
    char text[64];
    return fd >= 0 && text_read(fd, text, sizeof text) > 0 && sensor_number(text, value);
}

/* Goes round at its range, or at 2^64. A lower number that is no such turn is that of a counter which began anew. What
 * was counted since a reading that failed is of no known time, and of no row. */
static bool read_energy(struct sensor *sensor)
{
    uint64_t before_ns = sensor->read_ns, now_ns = monotonic_ns();
    double now;
    bool is_read = read_number(sensor->fds[0], &now);
    sensor->read_ns = is_read ? now_ns : 0;
    if (!is_read)
        return false;
    double grown = now < sensor->before ? now - sensor->before + sensor->range : now - sensor->before;
    sensor->before = now;
    if (before_ns == 0 || grown < 0 || grown * sensor->scale > MOST_WATTS * (double)(now_ns - before_ns) / 1e9)
        return false;
    sensor->total_nj += grown * sensor->scale * 1e9;
    return true;
}

/* Power, or voltage and current in the units that make it up. */
static bool read_power(const struct sensor *sensor, double *watts)
{
    double value, other = 1;
    char status[32];
    if (sensor->form == FORM_BATTERY) {
        /* While it is charged its power is not what the machine takes. */
        if (text_read(sensor->fds[0], status, sizeof status) <= 0 || strncmp(status, "Discharging", 11) != 0)
            return false;
        if (!read_number(sensor->fds[1], &value) || (sensor->fds[2] >= 0 && !read_number(sensor->fds[2], &other)))
            return false;
        value = value < 0 ? -value : value;
    } else if (!read_number(sensor->fds[0], &value)) {
        return false;
    }
    *watts = value * other * sensor->scale;
    return *watts >= 0 && *watts < 1e7;
}

bool sensor_read(size_t number, double *value)
{
    struct sensor *sensor = &sensors[number];
    bool is_read;
    switch (sensor->form) {
    case FORM_ENERGY:
        is_read = read_energy(sensor);
        *value = sensor->total_nj;
        return is_read;
    case FORM_COMMAND:
        command_go_on(&commands[number]);
        return command_read(&commands[number], value);
    case FORM_POWER:
    case FORM_BATTERY:
        return read_power(sensor, value);
    default:
        return false;
    }
}

void sensors_close(void)
{
    for (size_t i = 0; i < found; i++)
        if (sensors[i].form == FORM_COMMAND)
            command_stop(&commands[i]);
}

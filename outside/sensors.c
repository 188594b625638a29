#define _GNU_SOURCE
#include "sensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "perf_counter.h"
#include "proc.h"
#include "sys.h"

#define SECOND_NS 1000000000u
#define FIRST_NS (5ull * SECOND_NS)
/* The maximum of any part of a node: an energy counter that seems to have wrapped around faster was reset. */
#define MOST_WATTS 1e4
/* Counters grow in steps, mostly of a millisecond. */
#define STEP_NS 5000000u

static int open_files(struct sensor *sensor, const char **path)
{
    for (size_t i = 0; i < sizeof sensor->fds / sizeof *sensor->fds && sensor->paths[i][0] != '\0'; i++) {
        char text[64];
        sensor->fds[i] = text_open(AT_FDCWD, sensor->paths[i]);
        long got = sensor->fds[i] < 0 ? sensor->fds[i] : text_read(sensor->fds[i], text, sizeof text);
        /* Busy firmware, or a battery not reported yet: retry later. */
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
                 command->last_text[0] != '\0' ? command->last_text : "nothing");
    command_stop(command);
}

void sensor_open(size_t number, char *why, size_t why_size, char *note, size_t note_size)
{
    struct sensor *sensor = sensor_at(number);
    const char *path = "";
    int error;
    snprintf(note, note_size, "%s", sensor->note);
    if (sensor->form == FORM_NONE) {
        snprintf(why, why_size, "this machine reports no power of that kind");
    } else if (sensor->form == FORM_COMMAND) {
        open_command(sensor->command, why, why_size);
        snprintf(note, note_size, "the last reading of '%.80s', up to 10 s old", sensor->command->line);
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

/* Read an energy counter, which wraps around at its range, or at 2^64. A lower number without a plausible wrap means
 * that the counter was reset. The energy since a failed reading has no known time, and is in no row. */
static bool read_energy(struct sensor *sensor)
{
    uint64_t before_ns = sensor->read_ns, now_ns = monotonic_ns();
    double now;
    bool is_read = read_number(sensor->fds[0], &now);
    sensor->read_ns = is_read ? now_ns : 0;
    if (!is_read)
        return false;
    double grown = now < sensor->before ? now - sensor->before + sensor->range : now - sensor->before;
    double most = MOST_WATTS * (double)(now_ns - before_ns + STEP_NS) / 1e9;
    sensor->before = now;
    if (before_ns == 0 || grown < 0 || grown * sensor->scale > most)
        return false;
    sensor->total_nj += grown * sensor->scale * 1e9;
    return true;
}

/* Return the time between two readings in which it grows by half its range at most. */
static uint64_t round_ns(const struct sensor *sensor)
{
    double seconds = sensor->range * sensor->scale / (2 * MOST_WATTS);
    bool is_energy = sensor->form == FORM_ENERGY && sensor->fds[0] >= 0;
    return is_energy && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : UINT64_MAX;
}

uint64_t sensors_round_ns(void)
{
    struct sensor *sensor;
    uint64_t least_ns = UINT64_MAX;
    for (size_t i = 0; (sensor = sensor_at(i)) != NULL; i++)
        least_ns = round_ns(sensor) < least_ns ? round_ns(sensor) : least_ns;
    return least_ns == UINT64_MAX ? 0 : least_ns;
}

void sensors_keep_up(void)
{
    struct sensor *sensor;
    for (size_t i = 0; (sensor = sensor_at(i)) != NULL; i++)
        if (round_ns(sensor) != UINT64_MAX && monotonic_ns() - sensor->read_ns >= round_ns(sensor) / 2)
            sensor->is_broken |= !read_energy(sensor);
}

/* Read the power, or voltage and current in matching units. */
static bool read_power(const struct sensor *sensor, double *watts)
{
    double value, other = 1;
    char status[32];
    if (sensor->form == FORM_BATTERY) {
        /* While it is being charged, its power is not the machine's consumption. */
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
    struct sensor *sensor = sensor_at(number);
    bool is_read;
    switch (sensor->form) {
    case FORM_ENERGY:
        is_read = read_energy(sensor) && !sensor->is_broken;
        sensor->is_broken = false;
        *value = sensor->total_nj;
        return is_read;
    case FORM_COMMAND:
        command_advance(sensor->command);
        return command_read(sensor->command, value);
    case FORM_POWER:
    case FORM_BATTERY:
        return read_power(sensor, value);
    default:
        return false;
    }
}

void sensors_close(void)
{
    struct sensor *sensor;
    for (size_t i = 0; (sensor = sensor_at(i)) != NULL; i++)
        if (sensor->command != NULL)
            command_stop(sensor->command);
}

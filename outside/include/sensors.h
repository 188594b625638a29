/* Power sensors of a machine: files below /sys, and commands. One thread at a time; not async-signal-safe. */
#ifndef OUTSIDE_SENSORS_H
#define OUTSIDE_SENSORS_H

#include <stdbool.h>
#include <stddef.h>

#include "events.h"

#define MOST_COMMANDS 16

struct sensors_wanted {
    const char *kinds;                   /* comma-separated: auto, none, rapl, hwmon, battery, cray, ipmi */
    const char *sysfs;                   /* path of /sys */
    const char *commands[MOST_COMMANDS]; /* NAME=COMMAND, which prints watts */
    size_t count;
};

/* Find sensors, and add an event for each to `chosen`; also one for each explicitly named kind without a sensor, which
 * sensor_open then reports. Returns NULL, or the invalid part of the request. Allocates; once. */
const char *sensors_find(const struct sensors_wanted *wanted, const struct event **chosen, size_t *count);

/* Return a sensor by number, from 0; NULL behind the last one. */
struct sensor *sensor_at(size_t number);

/* Open the sensor of an event, and start its command. `why`: the reason if it is not available, or empty. `note`: a
 * note for the user. */
void sensor_open(size_t number, char *why, size_t why_size, char *note, size_t note_size);

/* Read the nanojoules since the first reading, or the watts. False if there is no reading now. No allocation except to
 * start a command. */
bool sensor_read(size_t number, double *value);

/* Return the period in which energy must be read, so that no counter wraps around twice in between; 0 without such a
 * counter. */
uint64_t sensors_round_ns(void);

/* Read the sensors that have not been read for that long. No allocation. */
void sensors_keep_up(void);

/* End the commands. */
void sensors_close(void);

#endif

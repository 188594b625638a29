/* Where a machine tells how much power it takes: files below /sys, and commands. One thread at a time; not
 * async-signal-safe. */
#ifndef SAMPLER_SENSORS_H
#define SAMPLER_SENSORS_H

#include <stdbool.h>
#include <stddef.h>

#include "events.h"

#define MOST_COMMANDS 16

struct sensors_wanted {
    const char *kinds;                   /* with commas: auto, none, rapl, hwmon, battery, cray, ipmi */
    const char *sysfs;                   /* where /sys is */
    const char *commands[MOST_COMMANDS]; /* NAME=COMMAND, which prints watts */
    size_t count;
};

/* Finds sensors, and adds an event for each to `chosen`; also one for each kind that was named and of which there is
 * none, which sensor_open says then. NULL, or what of the request is wrong. Allocates; once. */
const char *sensors_find(const struct sensors_wanted *wanted, const struct event **chosen, size_t *count);

/* The sensors that were found, in the order of their numbers; NULL behind the last one. */
struct sensor *sensor_at(size_t number);

/* Opens the sensor of an event, and starts its command. `why`: it cannot be had; empty if it can. `note`: what to know.
 */
void sensor_open(size_t number, char *why, size_t why_size, char *note, size_t note_size);

/* Nanojoules since it was read first, or watts. False where there is no reading now. No allocation, but what starting
 * a command takes. */
bool sensor_read(size_t number, double *value);

/* How often energy is to be read, so that no counter goes round twice unseen; 0 where there is none. */
uint64_t sensors_round_ns(void);

/* Reads those that have not been read for so long. No allocation. */
void sensors_keep_up(void);

/* Ends commands. */
void sensors_close(void);

#endif

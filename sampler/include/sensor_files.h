/* Finds files below /sys that tell of power. One thread at a time; not async-signal-safe. */
#ifndef SAMPLER_SENSOR_FILES_H
#define SAMPLER_SENSOR_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command.h"
#include "events.h"

#define MOST_SENSORS 96

/* ENERGY: joules that only grow. BATTERY: files of state, power or current, and voltage. */
enum form { FORM_NONE, FORM_ENERGY, FORM_POWER, FORM_BATTERY, FORM_COMMAND };

struct sensor {
    struct event event;
    enum form form;
    char name[64], note[96], paths[3][256];
    int fds[3];
    double scale; /* of what a file says to watts or joules */
    double range; /* at which energy goes round, as the file counts */
    double before, total_nj;
    uint64_t read_ns;        /* 0: never, or the last time failed */
    bool is_broken;          /* a reading failed since the last row */
    struct command *command; /* of FORM_COMMAND */
};

/* A sensor of this form and name, or NULL if there are too many. */
typedef struct sensor *sensor_maker(enum form form, const char *name);

void find_rapl(const char *sysfs, sensor_maker *make);
void find_hwmon(const char *sysfs, sensor_maker *make);
void find_battery(const char *sysfs, sensor_maker *make);
void find_cray(const char *sysfs, sensor_maker *make);

/* Makes `name` the name of sensors[at]: with "-watts", of signs that a table can hold, and no other's. Thread-safe. */
void sensor_name(struct sensor *sensors, size_t at, const char *name);

/* The number that a text begins with, if it is one that can be counted with. Thread-safe. */
bool sensor_number(const char *text, double *value);

#endif

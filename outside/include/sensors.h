/* Power sensors of a machine: files below /sys, and commands. One thread at a time; not async-signal-safe. */
#ifndef OUTSIDE_SENSORS_H
#define OUTSIDE_SENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "events.h"

/* A command that prints watts: once per run, and it is then run again, or a line from time to time. The sampler never
 * blocks on it. One thread at a time; not async-signal-safe. */
struct command {
    const char *line; /* for the shell */
    pid_t pid, dying; /* 0: not running; killed, but not reaped yet */
    int fd;
    char text[512], last_text[96]; /* an incomplete line; the last line that was no number */
    size_t filled;
    double watts;
    bool has_watts;
    uint64_t watts_ns, started_ns; /* times of the value and of the start */
};

/* Read its output, and start it if due. */
void command_advance(struct command *command);

/* Wait up to `most_ns` for a first reading. False if the command or the time ends without one. */
bool command_wait_for_first(struct command *command, uint64_t most_ns);

/* Return the last reading; false if it is too old. */
bool command_read(const struct command *command, double *watts);

/* Kill it, with all processes of its group. */
void command_stop(struct command *command);

/* Parse the watts in a line such as "212", "0.21 kW", or ipmitool's "Instantaneous power reading: 212 Watts". False for
 * any other. Thread-safe. */
bool command_parse(const char *line, double *watts);

#define MOST_SENSORS 96

/* ENERGY: a monotonic count of joules. BATTERY: files of state, power or current, and voltage. */
enum form { FORM_NONE, FORM_ENERGY, FORM_POWER, FORM_BATTERY, FORM_COMMAND };

struct sensor {
    struct event event;
    enum form form;
    char name[64], note[96], paths[3][256];
    int fds[3];
    double scale; /* factor from the file's unit to watts or joules */
    double range; /* at which energy wraps around, in the file's unit */
    double before, total_nj;
    uint64_t read_ns;        /* 0: never, or the last reading failed */
    bool is_broken;          /* a reading failed since the last row */
    struct command *command; /* of FORM_COMMAND */
};

/* Search for files below /sys that report power. */

/* Create a sensor of this form and name, or NULL if there are too many. */
typedef struct sensor *sensor_maker(enum form form, const char *name);

/* The kinds: the directory below /sys, and what makes sensors of an entry. */
#define SENSOR_DIRECTORIES 4
extern const struct sensor_directory {
    const char *name, *path;
    void (*visit_entry)(const char *directory, const char *entry, sensor_maker *make);
} sensor_directories[SENSOR_DIRECTORIES];

/* Make the sensors of a kind, in the order of the entries' numbers. */
void sensor_files_find(const struct sensor_directory *kind, const char *sysfs, sensor_maker *make);

/* Set the name of sensors[at] to `name` with "-watts", restricted to characters valid in a table, and made unique.
 * Thread-safe. */
void sensor_name(struct sensor *sensors, size_t at, const char *name);

/* Parse the number at the beginning of a text; false if it is not finite. Thread-safe. */
bool sensor_number(const char *text, double *value);

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

/* A command that prints watts: once, and then it is run again, or a line from time to time. It never is waited for.
 * One thread at a time; not async-signal-safe. */
#ifndef SAMPLER_COMMAND_H
#define SAMPLER_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct command {
    const char *line; /* for the shell */
    pid_t pid, dying; /* 0: does not run; has been ended, and is not waited for */
    int fd;
    char text[512], said[96]; /* a line that is not complete; the last one that was no number */
    size_t filled;
    double watts;
    bool has_watts;
    uint64_t watts_ns, started_ns; /* when each was */
};

/* Takes what it has printed, and starts it if it is time to. */
void command_go_on(struct command *command);

/* Waits up to `most_ns` for a first reading. False where it ends, or the time does, without. */
bool command_wait_for_first(struct command *command, uint64_t most_ns);

/* The last reading, unless it is too old. */
bool command_read(const struct command *command, double *watts);

/* Ends it, with all processes of its group. */
void command_stop(struct command *command);

/* Watts of a line such as "212", "0.21 kW", or ipmitool's "Instantaneous power reading: 212 Watts". False for any
 * other. Thread-safe. */
bool command_parse(const char *line, double *watts);

#endif

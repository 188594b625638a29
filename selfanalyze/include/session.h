/* The session: from the first parallel region of a process to its end. */
#ifndef SELFANALYZE_SESSION_H
#define SELFANALYZE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "launch.h"

/* Start the session if necessary, also in a forked child. False if nothing is watched (any more). Not
 * async-signal-safe. */
bool session_start(void);
bool session_is_on(void);

/* Write the data, for the last time or before an exec. Async-signal-safe; waits for two seconds at most. */
void session_stop(void);
void session_before_exec(void);

/* The file of a process: JSON objects, a line each (docs/use/selfanalyze.md). For the writing thread. */
struct settings {
    uint64_t interval_ns;
    int window, baseline_threads, baseline_iterations;
};

/* Append the changes since the last call, after creating the file if necessary. `last`: and an end line. False, after a
 * line on stderr, if it cannot be written. */
bool lines_write(const struct launch *launch, const struct settings *settings, uint64_t start_ns, bool forked,
                 bool last);

/* In a forked child: forget the file. */
void lines_forget(void);

#endif

/* The file of a process: JSON objects, a line each (docs/selfanalyze.md). For the writing thread. */
#ifndef SELFANALYZE_OUTPUT_LINES_H
#define SELFANALYZE_OUTPUT_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "launch.h"

struct settings {
    uint64_t interval_ns;
    int window, baseline_threads, baseline_iterations;
};

/* Appends what has changed since the last call; creates the file first. `last`: and that it ended here. False, after a
 * line on stderr, when it cannot be written. */
bool lines_write(const struct launch *launch, const struct settings *settings, uint64_t start_ns, bool forked,
                 bool last);

/* In a forked child: nothing has been written. */
void lines_forget(void);

#endif

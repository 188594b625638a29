/* What a file says about the process that it is about: the one that wrote it, or another. */
#ifndef RUNTIME_PROCESS_H
#define RUNTIME_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "launch.h"

/* Program, arguments, place, pid, rank, launch and start, as members of a JSON object that is open in `out`.
 * `start_ns`: CLOCK_MONOTONIC. Async-signal-safe. */
void process_json(struct buffer *out, const struct launch *launch, uint64_t start_ns, bool forked);

#endif

/* What a file says about itself (docs/formats.md, kind 1). */
#ifndef INCPROF_METADATA_H
#define INCPROF_METADATA_H

#include <stdint.h>

#include "buffer.h"
#include "config.h"
#include "launch.h"

/* As one JSON object. `start_ns`: CLOCK_MONOTONIC. Async-signal-safe. */
void metadata_json(struct buffer *out, const struct config *config, const struct launch *launch, uint64_t start_ns,
                   bool forked);

#endif

/* What is asked for on the command line, which `incprof sample` has checked and put together. */
#ifndef SAMPLER_REQUEST_H
#define SAMPLER_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "perf.h"
#include "sensors.h"

struct request {
    struct target target;
    uint64_t interval_ns, for_ns;
    const char *events, *output, *program;
    char **words; /* the program's, with its name; NULL without one */
    struct sensors_wanted sensors;
    bool force, list;
};

/* False after a line on stderr. Not thread-safe (getopt). */
bool request_parse(struct request *request, int argc, char **argv);

#endif

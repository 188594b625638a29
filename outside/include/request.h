/* The command lines of incprof-attach and incprof-sampler, which incprof has validated and built. The settings of a
 * recording come from the environment (config.h). Not thread-safe (getopt). */
#ifndef OUTSIDE_REQUEST_H
#define OUTSIDE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "perf_counter.h"
#include "sensors.h"

struct request {
    struct target target;
    uint64_t for_ns;      /* 0: unlimited */
    const char *program;  /* the file to start, */
    char **words;         /* with these arguments, the first of which is its name; NULL without a program */
    uint32_t stack_bytes; /* incprof-attach only; the rest: incprof-sampler only */
    uint64_t interval_ns;
    const char *events, *output;
    struct sensors_wanted sensors;
    bool force, list;
};

/* Parse a command line. Both return false after one line on stderr. */
bool request_parse_attach(struct request *request, int argc, char **argv);
bool request_parse_sampler(struct request *request, int argc, char **argv);

#endif

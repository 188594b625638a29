/* The command line of incprof-attach. Settings of the recording come by the environment (config.h). */
#ifndef ATTACH_REQUEST_H
#define ATTACH_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct request {
    pid_t pid;           /* of a process that runs, or 0 */
    const char *program; /* or the file to start, */
    char **words;        /* with these arguments */
    uint64_t for_ns;     /* 0: without an end */
    uint32_t stack_bytes;
};

/* False after one line on stderr. */
bool request_parse(struct request *request, int argc, char **argv);

#endif

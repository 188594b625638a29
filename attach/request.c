#define _GNU_SOURCE
#include "request.h"

#include <getopt.h>
#include <limits.h>
#include <stdlib.h>

#include "environment.h"
#include "log.h"

#define MOST_NS ((uint64_t)1 << 62)
/* A record of the kernel's has less than 64 KiB. */
#define USUAL_STACK 16384
#define LEAST_STACK 1024
#define MOST_STACK 65024

static const struct option options[] = {
    {"pid", required_argument, NULL, 'p'},
    {"for", required_argument, NULL, 'f'},
    {"program", required_argument, NULL, 'P'},
    {"stack", required_argument, NULL, 's'},
    {NULL, 0, NULL, 0},
};

static bool complain(const char *what, const char *value)
{
    log_warn(what, value);
    return false;
}

static bool take_number(const char *text, long least, long most, long *number)
{
    char *end;
    *number = strtol(text, &end, 10);
    return *text != '\0' && *end == '\0' && *number >= least && *number <= most;
}

static bool take(struct request *request, int option, const char *value)
{
    long number;
    switch (option) {
    case 'p':
        if (!take_number(value, 1, INT_MAX, &number))
            return complain("expected the number of a process", value);
        request->pid = (pid_t)number;
        return true;
    case 'f':
        return (environment_parse_nano(value, MOST_NS, &request->for_ns) && request->for_ns > 0) ||
               complain("duration: expected seconds above 0", value);
    case 's':
        if (!take_number(value, LEAST_STACK, MOST_STACK, &number))
            return complain("stack: expected a number of bytes from 1024 to 65024", value);
        request->stack_bytes = (uint32_t)number & ~7u;
        return true;
    case 'P':
        request->program = value;
        return true;
    default:
        return complain("incprof-attach is run by incprof record -p and incprof record --external", NULL);
    }
}

bool request_parse(struct request *request, int argc, char **argv)
{
    *request = (struct request){.stack_bytes = USUAL_STACK};
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "+", options, NULL)) != -1;)
        if (!take(request, option, optarg))
            return false;
    if (optind < argc)
        request->words = argv + optind;
    if ((request->pid > 0) == (request->words != NULL))
        return complain("incprof-attach is run by incprof record -p and incprof record --external", NULL);
    if (request->words != NULL && request->program == NULL)
        request->program = request->words[0];
    return true;
}

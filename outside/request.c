#define _GNU_SOURCE
#include "request.h"

#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "log.h"

#define LONGEST_NS 3600000000000u
#define MOST_NS ((uint64_t)1 << 62)
/* A kernel record has less than 64 KiB. */
#define USUAL_STACK 16384
#define LEAST_STACK 1024
#define MOST_STACK 65024

#define COMMON_OPTIONS                                                                                                 \
    {"for", required_argument, NULL, 'f'}, {"pid", required_argument, NULL, 'p'},                                      \
        {"program", required_argument, NULL, 'P'}

static const struct option attach_options[] = {
    COMMON_OPTIONS,
    {"stack", required_argument, NULL, 'k'},
    {NULL, 0, NULL, 0},
};
static const struct option sampler_options[] = {
    COMMON_OPTIONS,
    {"interval", required_argument, NULL, 'i'},
    {"output", required_argument, NULL, 'o'},
    {"events", required_argument, NULL, 'e'},
    {"system", no_argument, NULL, 's'},
    {"force", no_argument, NULL, 'F'},
    {"list", no_argument, NULL, 'l'},
    {"power", required_argument, NULL, 'w'},
    {"power-command", required_argument, NULL, 'c'},
    {"sysfs", required_argument, NULL, 'y'},
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

static bool take_pid(struct request *request, const char *value)
{
    long number;
    if (!take_number(value, 1, INT_MAX, &number))
        return complain("expected the number of a process", value);
    request->target = (struct target){OF_PROCESS, (pid_t)number};
    return true;
}

static bool take_stack(struct request *request, const char *value)
{
    long number;
    if (!take_number(value, LEAST_STACK, MOST_STACK, &number))
        return complain("stack: expected a number of bytes from 1024 to 65024", value);
    request->stack_bytes = (uint32_t)number & ~7u;
    return true;
}

static bool take(struct request *request, int option, const char *value, const char *usage)
{
    switch (option) {
    case 'f':
        return (environment_parse_nano(value, MOST_NS, &request->for_ns) && request->for_ns > 0) ||
               complain("duration: expected seconds above 0", value);
    case 'p':
        return take_pid(request, value);
    case 'P':
        request->program = value;
        return true;
    case 'k':
        return take_stack(request, value);
    case 'i':
        return (environment_parse_nano(value, LONGEST_NS, &request->interval_ns) && request->interval_ns >= 100000) ||
               complain("interval: expected seconds from 0.0001 to 3600", value);
    case 's':
        request->target.scope = OF_MACHINE;
        return true;
    case 'o':
        request->output = value;
        return true;
    case 'e':
        request->events = value;
        return true;
    case 'F':
        return request->force = true;
    case 'w':
        request->sensors.kinds = value;
        return true;
    case 'y':
        request->sensors.sysfs = value;
        return true;
    case 'c':
        if (request->sensors.count == MOST_COMMANDS)
            return complain("too many commands for power", value);
        request->sensors.commands[request->sensors.count++] = value;
        return true;
    case 'l':
        return request->list = true;
    default:
        return complain(usage, NULL);
    }
}

static bool parse(struct request *request, int argc, char **argv, const struct option *options, const char *usage)
{
    *request = (struct request){.interval_ns = 5000000,
                                .events = "default",
                                .stack_bytes = USUAL_STACK,
                                .sensors = {.kinds = "none", .sysfs = "/sys"}};
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "+", options, NULL)) != -1;)
        if (!take(request, option, optarg, usage))
            return false;
    if (optind < argc)
        request->words = argv + optind;
    if (request->words != NULL && request->program == NULL)
        request->program = request->words[0];
    return true;
}

bool request_parse_attach(struct request *request, int argc, char **argv)
{
    const char *usage = "incprof-attach is run by incprof record -p and incprof record --external";
    return parse(request, argc, argv, attach_options, usage) &&
           ((request->target.pid > 0) != (request->words != NULL) || complain(usage, NULL));
}

bool request_parse_sampler(struct request *request, int argc, char **argv)
{
    const char *usage = "incprof-sampler is run by incprof sample";
    if (!parse(request, argc, argv, sampler_options, usage))
        return false;
    bool has_program = request->words != NULL, needs_one = request->target.scope == OF_PROGRAM;
    bool has_too_many = has_program && request->target.scope == OF_PROCESS;
    bool is_complete = request->output != NULL && !has_too_many && (has_program || !needs_one);
    return request->list || is_complete || complain(usage, NULL);
}

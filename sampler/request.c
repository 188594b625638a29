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

static const struct option options[] = {
    {"interval", required_argument, NULL, 'i'},
    {"output", required_argument, NULL, 'o'},
    {"events", required_argument, NULL, 'e'},
    {"for", required_argument, NULL, 'f'},
    {"pid", required_argument, NULL, 'p'},
    {"program", required_argument, NULL, 'P'},
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

/* 0 where it is none. */
static pid_t process_number(const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);
    return *end == '\0' && number > 0 && number <= INT_MAX ? (pid_t)number : 0;
}

static bool take(struct request *request, int option, const char *value)
{
    switch (option) {
    case 'i':
        return (environment_parse_nano(value, LONGEST_NS, &request->interval_ns) && request->interval_ns >= 100000) ||
               complain("interval: expected seconds from 0.0001 to 3600", value);
    case 'f':
        return (environment_parse_nano(value, MOST_NS, &request->for_ns) && request->for_ns > 0) ||
               complain("time to sample: expected seconds above 0", value);
    case 'p':
        request->target = (struct target){OF_PROCESS, process_number(value)};
        return request->target.pid > 0 || complain("expected the number of a process", value);
    case 's':
        request->target.scope = OF_MACHINE;
        return true;
    case 'o':
        request->output = value;
        return true;
    case 'e':
        request->events = value;
        return true;
    case 'P':
        request->program = value;
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
        return complain("incprof-sampler is run by incprof sample", NULL);
    }
}

bool request_parse(struct request *request, int argc, char **argv)
{
    *request =
        (struct request){.interval_ns = 5000000, .events = "default", .sensors = {.kinds = "none", .sysfs = "/sys"}};
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "+", options, NULL)) != -1;)
        if (!take(request, option, optarg))
            return false;
    if (optind < argc)
        request->words = argv + optind;
    bool has_program = request->words != NULL, needs_one = request->target.scope == OF_PROGRAM;
    bool has_too_many = has_program && request->target.scope == OF_PROCESS;
    if (!request->list && (request->output == NULL || has_too_many || (needs_one && !has_program)))
        return complain("incprof-sampler is run by incprof sample", NULL);
    if (has_program && request->program == NULL)
        request->program = request->words[0];
    return true;
}

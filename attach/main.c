/* incprof-attach: records a program from outside, with nothing in it. incprof record -p and --external run it. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "child.h"
#include "closing_line.h"
#include "config.h"
#include "events.h"
#include "follow.h"
#include "launch.h"
#include "log.h"
#include "loop.h"
#include "refusal.h"
#include "request.h"
#include "running.h"
#include "sys.h"
#include "target.h"

/* As in incprof/errors.py. */
enum { FAILURE = 1, USAGE = 2, NO_DATA = 4, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

static struct config config;
static struct launch launch;
static struct events events;
static char program[PATH_MAX];

/* A descriptor for each thread and processor. The program has its own limit already. */
static void prepare_self(void)
{
    struct rlimit files;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static bool claim_directory(void)
{
    strcpy(launch.exe, program);
    if (!launch_claim_directory(&launch, config.directory, "gmon"))
        return false;
    closing_line_take();
    closing_line_prepare(&config, &launch);
    return true;
}

static void say_end(void)
{
    struct follow_totals totals = follow_totals();
    char line[160];
    if (totals.lost > 0) {
        snprintf(line, sizeof line, "%llu of %llu samples were lost: the recorder had no time to take them",
                 (unsigned long long)totals.lost, (unsigned long long)(totals.samples + totals.lost));
        log_warn(line, NULL);
    }
    if (totals.processes == 0)
        log_warn("no program ran that was to be recorded; --exe names one", NULL);
    else if (totals.samples + totals.lost == 0)
        log_warn("there is no sample: the program has used no measurable CPU time", NULL);
    else
        closing_line_say(&(struct closing){.intervals = totals.intervals});
}

static void become(const struct request *request)
{
    execvp(request->program, request->words);
}

static uint64_t end_of(const struct request *request)
{
    return request->for_ns > 0 ? monotonic_ns() + request->for_ns : UINT64_MAX;
}

static int attach(const struct request *request)
{
    struct watch watch;
    sigset_t mask;
    watch_begin(&watch, false, &mask);
    if (!target_look(request->pid, program))
        return FAILURE;
    int error = watch_open(&watch, NULL, request->pid);
    prepare_self();
    error = error != 0 ? error : events_open(&events, request->pid, false, config.rate_hz, request->stack_bytes);
    if (error != 0) {
        refusal_say(error, request->pid);
        return FAILURE;
    }
    if (!claim_directory())
        return FAILURE;
    follow_begin(&config, &launch, program, events.sees_kernel);
    error = running_follow(&events, request->pid, program);
    if (error != 0) {
        refusal_say(error, request->pid);
        return FAILURE;
    }
    if (config.follow)
        running_follow_descendants(&events, request->pid);
    loop_run(&watch, &events, end_of(request));
    events_close(&events);
    say_end();
    return follow_totals().samples > 0 ? 0 : NO_DATA;
}

/* The file of the program that is recorded: what the command line was found to be about, or the command. */
static void name_program(const struct request *request)
{
    const char *chosen = getenv("INCPROF_PROGRAM");
    if (chosen != NULL && *chosen != '\0')
        snprintf(program, sizeof program, "%s", chosen);
    else if (realpath(request->program, program) == NULL)
        snprintf(program, sizeof program, "%s", request->program);
}

static int start(const struct request *request)
{
    struct child child;
    struct watch watch;
    sigset_t mask;
    name_program(request);
    watch_begin(&watch, true, &mask);
    int error = child_prepare(&child, request->program, request->words, &mask);
    if (error != 0) {
        log_error("cannot start a process", NULL, error);
        return FAILURE;
    }
    prepare_self();
    error = watch_open(&watch, &child, 0);
    error = error != 0 ? error : events_open(&events, child.pid, true, config.rate_hz, request->stack_bytes);
    if (error != 0)
        refusal_say(error, 0);
    follow_begin(&config, &launch, program, events.sees_kernel);
    if (error != 0 || !claim_directory() || !follow_child(child.pid)) {
        child_abandon(&child);
        return FAILURE;
    }
    uint64_t until_ns = end_of(request);
    error = child_go(&child);
    if (error != 0) {
        log_error(request->words[0], "cannot be run", error);
        return error == -ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
    }
    loop_run(&watch, &events, until_ns);
    events_close(&events);
    say_end();
    watch_wait(&watch);
    child_become(&child);
}

int main(int argc, char **argv)
{
    struct request request;
    log_start("incprof");
    if (!request_parse(&request, argc, argv))
        return USAGE;
    config_read(&config);
    config.clock = CLOCK_PERF;
    if (!launch_identify(&launch, config.rank))
        return FAILURE;
    bool is_wanted = !config.disabled && config_has_rank(config.ranks, launch.rank, launch.local);
    if (!is_wanted && request.words != NULL) {
        become(&request);
        log_error(request.words[0], "cannot be run", -errno);
        return errno == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
    }
    if (!is_wanted)
        return 0;
    return request.pid > 0 ? attach(&request) : start(&request);
}

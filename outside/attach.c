/* incprof-attach: records a program from outside, without a preloaded library. incprof record -p and --external run
 * it. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "closing_line.h"
#include "config.h"
#include "follow.h"
#include "launch.h"
#include "log.h"
#include "perf_counter.h"
#include "perf_rings.h"
#include "proc.h"
#include "request.h"
#include "sys.h"
#include "watch.h"

/* The default rate: a sample costs several times as much as one taken inside the program. */
#define OUTSIDE_HZ 100

static struct config config;
static struct launch launch;
static struct events events;
static char program[PATH_MAX];

/* `pid`: of a running process, or 0. */
static bool claim_directory(pid_t pid)
{
    strcpy(launch.exe, program);
    snprintf(launch.app, sizeof launch.app, "%s", launch_basename(program));
    launch.pid = pid;
    if (pid != 0)
        launch_name_program(&launch);
    launch.pid = 0;
    if (!launch_claim_directory(&launch, config.directory, "gmon"))
        return false;
    closing_line_take();
    closing_line_prepare(&config, &launch);
    return true;
}

/* Return whether there is anything to analyse: samples, or what the program waits for. */
static bool has_data(void)
{
    return follow_totals().samples > 0 || (config.waits_hz > 0 && follow_totals().intervals > 0);
}

static void report_end(void)
{
    struct follow_totals totals = follow_totals();
    char line[160];
    if (totals.lost > 0) {
        snprintf(line, sizeof line, "%llu of %llu samples were lost: the recorder could not read them fast enough",
                 (unsigned long long)totals.lost, (unsigned long long)(totals.samples + totals.lost));
        log_warn(line, NULL);
    }
    if (totals.unsampled * 100 >= totals.ticks && totals.unsampled > 0) {
        snprintf(
            line, sizeof line,
            "%.2g of %.2g s of CPU time has no functions, because threads ended before their next tick; record without "
            "-p and --external to have them",
            (double)totals.unsampled / (double)config.rate_hz, (double)totals.ticks / (double)config.rate_hz);
        log_warn(line, NULL);
    }
    if (totals.processes == 0)
        log_warn("no program ran that matches --exe", NULL);
    else if (totals.lost == 0 && !has_data())
        log_warn("no samples: the program has used no measurable CPU time", NULL);
    else
        closing_line_write(&(struct closing){.intervals = totals.intervals});
}

/* A record gets its time before it enters its ring, so older records may still arrive behind one that is newer than
 * this. A record never precedes its cause, so urgent samples need not wait. */
#define MARGIN_NS 2000000u
#define MOST_RINGS 1024 /* to wait for; all are read */

static void drain(uint64_t until_ns)
{
    uint64_t time_ns;
    const struct perf_event_header *record;
    while ((record = events_next(&events, until_ns, &time_ns)) != NULL)
        follow_record(record, time_ns);
}

static uint64_t earlier(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* Wait until `when_ns`, a signal, the end of the process, or a sample where samples are urgent. */
static enum end wait_until(struct watch *watch, uint64_t when_ns)
{
    static bool is_over; /* the kernel reports that the rings get no more records */
    struct pollfd files[WATCH_FILES + MOST_RINGS];
    nfds_t count = WATCH_FILES;
    for (size_t i = 0; follow_is_urgent() && !is_over && i < events.ring_count && i < MOST_RINGS; i++)
        files[count++] = (struct pollfd){.fd = events.rings[i].fd, .events = POLLIN};
    uint64_t now_ns = monotonic_ns();
    uint64_t left_ns = when_ns > now_ns ? when_ns - now_ns : 0;
    const struct timespec left = {(time_t)(left_ns / 1000000000u), (long)(left_ns % 1000000000u)};
    enum end end = watch_next(watch, files, count, &left);
    for (nfds_t i = WATCH_FILES; i < count; i++)
        is_over |= (files[i].revents & (POLLHUP | POLLERR)) != 0;
    return end;
}

/* Process the kernel's records until the end, or until that time (CLOCK_MONOTONIC), sample waiting threads, and end all
 * recordings. */
static void record(struct watch *watch, uint64_t until_ns)
{
    uint64_t drain_due_ns = monotonic_ns() + events.drain_ns;
    for (;;) {
        uint64_t next_ns = earlier(earlier(drain_due_ns, follow_next_ns() + MARGIN_NS), until_ns);
        enum end end = wait_until(watch, earlier(next_ns, waiters_due_ns()));
        uint64_t now_ns = monotonic_ns();
        if (end == ENDED || end == STOPPED || now_ns >= until_ns) {
            events_stop(&events);
            drain(UINT64_MAX);
            follow_end(monotonic_ns());
            return;
        }
        bool is_urgent = follow_is_urgent();
        bool is_for_waits = !is_urgent && now_ns < next_ns && now_ns >= waiters_due_ns();
        if (!is_for_waits) {
            uint64_t margin_ns = is_urgent ? 0 : MARGIN_NS;
            drain(now_ns - margin_ns);
            follow_tick(now_ns - margin_ns);
            drain_due_ns = now_ns + events.drain_ns;
        }
        waiters_sample(monotonic_ns(), is_for_waits);
    }
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
    if (!target_read(request->target.pid, program))
        return FAILURE;
    int error = watch_open(&watch, NULL, request->target.pid);
    recorder_prepare();
    error = error != 0 ? error : events_open(&events, request->target.pid, false, config.rate_hz, request->stack_bytes);
    if (error != 0) {
        refusal_report(error, request->target.pid);
        return FAILURE;
    }
    if (!claim_directory(request->target.pid))
        return FAILURE;
    follow_begin(&config, &launch, program, events.sees_kernel);
    error = running_follow(&events, request->target.pid, program);
    if (error != 0) {
        refusal_report(error, request->target.pid);
        return FAILURE;
    }
    if (config.follow)
        running_follow_descendants(&events, request->target.pid);
    record(&watch, end_of(request));
    events_close(&events);
    report_end();
    return has_data() ? 0 : NO_DATA;
}

/* Find the file of the recorded program: the one that incprof has determined from the command line, or the command. */
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
    recorder_prepare();
    error = watch_open(&watch, &child, 0);
    error = error != 0 ? error : events_open(&events, child.pid, true, config.rate_hz, request->stack_bytes);
    if (error != 0)
        refusal_report(error, 0);
    follow_begin(&config, &launch, program, events.sees_kernel);
    if (error != 0 || !claim_directory(0) || !follow_child(child.pid)) {
        child_abandon(&child);
        return FAILURE;
    }
    uint64_t until_ns = end_of(request);
    int status = child_go(&child, request->words);
    if (status != 0)
        return status;
    record(&watch, until_ns);
    events_close(&events);
    report_end();
    watch_wait(&watch);
    child_become(&child);
}

int main(int argc, char **argv)
{
    struct request request;
    log_start("incprof");
    if (!request_parse_attach(&request, argc, argv))
        return USAGE;
    config_read(&config);
    config.clock = CLOCK_PERF;
    if (!config.rate_given)
        config.rate_hz = OUTSIDE_HZ;
    if (!launch_identify(&launch, config.rank))
        return FAILURE;
    bool is_wanted = !config.disabled && config_has_rank(config.ranks, launch.rank, launch.local);
    if (!is_wanted && request.words != NULL) {
        execvp(request.program, request.words);
        return cannot_run(request.words[0], errno);
    }
    if (!is_wanted)
        return 0;
    return request.target.pid > 0 ? attach(&request) : start(&request);
}

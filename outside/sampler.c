/* incprof-sampler: counters of a program, a process or the machine, a row for each interval. incprof sample runs it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "log.h"
#include "proc.h"
#include "request.h"
#include "rows.h"
#include "sensors.h"
#include "sys.h"
#include "watch.h"

static struct columns columns;
static struct output output;
static int timer; /* its descriptor */
static bool is_created, is_regular;

static bool open_output(const struct request *request)
{
    if (strcmp(request->output, "-") == 0) {
        output.fd = 1;
        return true;
    }
    long error = output_create(&output, request->output);
    is_created = error == 0;
    struct stat status;
    /* Devices and pipes may be written to. */
    if (error == -EEXIST && (request->force || (stat(request->output, &status) == 0 && !S_ISREG(status.st_mode)))) {
        output.fd = sys_open(request->output, O_WRONLY, 0);
        error = output.fd < 0 ? output.fd : 0;
    }
    if (error == -EEXIST)
        log_warn(request->output, "exists: give --force to replace it, or another name with -o");
    else if (error != 0)
        log_error("cannot write", request->output, error);
    is_regular = error == 0 && fstat(output.fd, &status) == 0 && S_ISREG(status.st_mode);
    return error == 0;
}

static int give_up(const struct request *request, int status)
{
    if (is_created)
        sys_unlink(request->output);
    return status;
}

static bool has_program(const struct request *request)
{
    return request->words != NULL;
}

static const char *subject_of(const struct request *request)
{
    static char text[4096];
    size_t at = 0;
    if (request->target.scope == OF_MACHINE)
        at = (size_t)snprintf(text, sizeof text, "the whole machine%s", has_program(request) ? " during" : "");
    else if (request->target.scope == OF_PROCESS)
        at = (size_t)snprintf(text, sizeof text, "process %d", request->target.pid);
    for (size_t i = 0; has_program(request) && request->words[i] != NULL; i++)
        if (at < sizeof text)
            at += (size_t)snprintf(text + at, sizeof text - at, at > 0 ? " %s" : "%s", request->words[i]);
    return text;
}

/* Print the events that are not available in one line, grouped by reason. */
static void report_unavailable(void)
{
    char line[480];
    size_t at = 0;
    for (size_t i = 0; i < columns.count; i++) {
        const struct column *column = &columns.all[i];
        bool is_reported = column->why[0] == '\0' || column->event->source == DERIVED;
        for (size_t before = 0; before < i; before++)
            is_reported |= strcmp(columns.all[before].why, column->why) == 0;
        if (is_reported || at >= sizeof line)
            continue;
        at += (size_t)snprintf(line + at, sizeof line - at, "%s%s", at > 0 ? "; " : "", column->event->name);
        for (size_t later = i + 1; later < columns.count && at < sizeof line; later++)
            if (strcmp(columns.all[later].why, column->why) == 0)
                at += (size_t)snprintf(line + at, sizeof line - at, ", %s", columns.all[later].event->name);
        if (at < sizeof line)
            at += (size_t)snprintf(line + at, sizeof line - at, ": %s", column->why);
    }
    if (at > 0)
        log_warn("not available", line);
}

static double own_cpu_s(void)
{
    return (double)sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static void summarise(const struct request *request, const struct rows *rows, double cpu_s)
{
    char line[400];
    double elapsed_s = (double)(monotonic_ns() - rows->start_ns) / 1e9;
    snprintf(line, sizeof line, "%llu rows in %.200s, %llu late ticks; the sampler took %.2f %% of a processor",
             (unsigned long long)rows->written, strcmp(request->output, "-") == 0 ? "stdout" : request->output,
             (unsigned long long)rows->late, elapsed_s > 0 ? 100 * cpu_s / elapsed_s : 0);
    log_warn(line, NULL);
}

static void report_thinned(const struct rows *rows)
{
    char line[200];
    if (rows->thin > 0) {
        snprintf(line, sizeof line,
                 "active-cpus and running-threads: in %llu of %llu rows only, as reading so many threads takes long",
                 (unsigned long long)(rows->written - rows->thin), (unsigned long long)rows->written);
        log_warn(line, NULL);
    }
    if (rows->skipped > 0) {
        snprintf(
            line, sizeof line,
            "%llu rows left out, and the others are for longer, as reading one takes long: give fewer events (-e) or "
            "a longer interval (-i)",
            (unsigned long long)rows->skipped);
        log_warn(line, NULL);
    }
}

static void report_incomplete(void)
{
    if (tree_is_full())
        log_warn("not all of it was counted: it had more than 1024 processes or 4096 threads, or more than there may "
                 "be open "
                 "files for (ulimit -Hn)",
                 NULL);
}

/* Open the descriptors that run() waits for; the watch has begun. Returns 0 or negative errno. */
static int open_loop(struct watch *watch, const struct child *child, pid_t pid)
{
    int error = watch_open(watch, child, pid);
    if (error != 0)
        return error;
    /* timerfd keeps the schedule and counts missed ticks, and poll has no race between checking and waiting. */
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return timer < 0 ? -errno : 0;
}

static struct timespec as_time(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

/* Write a row for each tick of an absolute schedule, until the end, or for `for_ns` (0: unlimited). No allocation. */
static enum end run(struct watch *watch, uint64_t for_ns, struct rows *rows)
{
    const struct itimerspec schedule = {as_time(rows->interval_ns), as_time(rows->start_ns + rows->interval_ns)};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &schedule, NULL);
    struct pollfd files[WATCH_FILES + 1] = {[WATCH_FILES] = {.fd = timer, .events = POLLIN}};
    /* Energy counters are read in between if rows are too rare for them. */
    uint64_t ticks, passed_ns = 0, round_ns = sensors_round_ns();
    const bool keeps_up = round_ns > 0 && rows->interval_ns > round_ns;
    const struct timespec pause = as_time(round_ns);
    while (rows->error == 0) {
        enum end end = watch_next(watch, files, WATCH_FILES + 1, keeps_up ? &pause : NULL);
        if (end != GOES_ON)
            return end;
        if (keeps_up)
            sensors_keep_up();
        if (read(timer, &ticks, sizeof ticks) != sizeof ticks)
            continue;
        rows_tick(rows, ticks - 1);
        passed_ns += ticks * rows->interval_ns;
        if (for_ns > 0 && passed_ns + rows->interval_ns / 2 >= for_ns)
            return TIME_IS_UP;
    }
    return FAILED;
}

/* Sample; return how it ended. The program, if any, is still running only if the sampling ended first. */
static enum end sample(const struct request *request, struct watch *watch, struct rows *rows)
{
    double before = own_cpu_s();
    enum end end = run(watch, request->for_ns, rows);
    rows_end(rows, end == TIME_IS_UP);
    sensors_close();
    if (rows->error != 0)
        log_error("the series ends here", request->output, rows->error);
    report_thinned(rows);
    report_incomplete();
    summarise(request, rows, own_cpu_s() - before);
    return rows->error != 0 ? FAILED : end;
}

static bool choose(const struct request *request, const struct event **chosen, size_t *count)
{
    const char *bad = events_choose(request->events, chosen, count);
    const char *what = "no such event, or too many (incprof sample --list shows them)";
    char word[40];
    if (bad == NULL) {
        uncore_below(request->sensors.sysfs);
        bad = sensors_find(&request->sensors, chosen, count);
        what = "no such kind of power, or no NAME=COMMAND";
    }
    if (bad == NULL)
        return true;
    snprintf(word, sizeof word, "'%.*s'", (int)strcspn(bad, ",") < 30 ? (int)strcspn(bad, ",") : 30, bad);
    log_warn(what, word);
    return false;
}

static int start(const struct request *request, struct child *child, struct rows *rows)
{
    rows->error = is_regular && request->force ? output_cut(&output, 0) : 0;
    if (rows->error != 0 || !rows_begin(rows, subject_of(request))) {
        log_error("cannot write", request->output, rows->error);
        return FAILURE;
    }
    return has_program(request) ? child_go(child, request->words) : 0;
}

/* Open all that is needed to sample, and start. Returns 0, or the exit status. */
static int open_and_start(const struct request *request, const struct event *const *chosen, size_t count,
                          struct child *child, struct watch *watch, struct rows *rows)
{
    bool has_child = has_program(request), is_process = request->target.scope == OF_PROCESS;
    int error = open_loop(watch, has_child ? child : NULL, is_process ? request->target.pid : 0);
    if (error != 0) {
        log_error(is_process ? "there is no such process to sample" : "cannot sample", subject_of(request), error);
        return FAILURE;
    }
    size_t available = columns_open(&columns, chosen, count, request->target, request->interval_ns);
    report_unavailable();
    if (available == 0) {
        log_warn("none of the requested events can be sampled", NULL);
        return NO_DATA;
    }
    return start(request, child, rows);
}

static int sample_all(struct request *request, const struct event *const *chosen, size_t count)
{
    struct child child = {.pid = 0};
    struct watch watch;
    sigset_t mask;
    struct rows rows = {.columns = &columns, .output = &output, .interval_ns = request->interval_ns};
    bool has_child = has_program(request);
    watch_begin(&watch, has_child, &mask);
    if (!open_output(request))
        return FAILURE;
    int error = has_child ? child_prepare(&child, request->program, request->words, &mask) : 0;
    if (error != 0) {
        log_error("cannot start a process", NULL, error);
        return give_up(request, FAILURE);
    }
    punctual_request(request->interval_ns);
    recorder_prepare();
    if (request->target.scope == OF_PROGRAM)
        request->target.pid = child.pid;
    int status = open_and_start(request, chosen, count, &child, &watch, &rows);
    if (status != 0) {
        sensors_close();
        if (has_child && status < NOT_EXECUTABLE)
            child_abandon(&child);
        return give_up(request, status);
    }
    enum end end = sample(request, &watch, &rows);
    if (!has_child)
        return end == FAILED ? FAILURE : 0;
    watch_wait(&watch);
    child_become(&child);
}

/* Print the table of `incprof sample --list`: the available events, and the reasons for the others. Returns the exit
 * status. */
static int list(struct target target, const struct event *const *chosen, size_t count)
{
    /* Without a program, events available for this process stand for those available for programs. */
    if (target.scope == OF_PROGRAM)
        target.pid = getpid();
    columns_open(&columns, chosen, count, target, 0);
    printf("%-26s %-9s %-9s %s\n", "event", "value", "available", "what, or why not");
    for (size_t i = 0; i < columns.count; i++) {
        const struct column *column = &columns.all[i];
        bool is_there = column->why[0] == '\0', is_noted = is_there && column->note[0] != '\0';
        printf("%-26s %-9s %-9s %s%s%s\n", column->event->name, kind_name(column->event->kind), is_there ? "yes" : "no",
               is_there ? column->event->description : column->why, is_noted ? "; " : "", is_noted ? column->note : "");
    }
    sensors_close();
    return fflush(stdout) == 0 ? 0 : FAILURE;
}

int main(int argc, char **argv)
{
    struct request request;
    const struct event *chosen[MOST_COLUMNS];
    size_t count = 0;
    log_start("incprof");
    if (!request_parse_sampler(&request, argc, argv) || !choose(&request, chosen, &count))
        return USAGE;
    if (request.list)
        return list(request.target, chosen, count);
    return sample_all(&request, chosen, count);
}

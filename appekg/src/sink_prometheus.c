/* EKG_SINK=prometheus: a file for the textfile collector of Prometheus' node_exporter, replaced after each interval
 * (docs/use/appekg.md). Counters run over the life of the process. */
#define _GNU_SOURCE
#include <string.h>

#include "buffer.h"
#include "environment.h"
#include "fixed_text.h"
#include "log.h"
#include "output.h"
#include "sink.h"
#include "sys.h"

#define DEFAULT_DIRECTORY "/var/lib/prometheus/node-exporter"
#define LONGEST_APP 64
#define NAME_BYTES (LONGEST_APP + 40)
#define NANO 1000000000u
#define READABLE 022u /* the umask: the exporter's user must be able to read the file */

static const struct session *session;
static char path[PATH_MAX];
static struct buffer text, labels;
static struct id_sums sums;
static struct process_totals totals;
static bool has_failed;

/* Write the name, appekg-<app>-<pid>, without characters special to shells and collectors. */
static void put_name(char *name, const char *app, uint64_t pid)
{
    char *end = stpcpy(name, "appekg-");
    size_t length = strnlen(app, LONGEST_APP);
    memcpy(end, app, length);
    end[length] = '\0';
    for (char *at = name; *at != '\0'; at++)
        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-", *at) == NULL)
            *at = '_';
    strcat(name, "-");
    text_append_number(name, NAME_BYTES, pid, 1);
}

/* Set the path; false if it is too long. The interval thread has another working directory: a relative directory is
 * resolved against the application's. */
static bool choose_path(void)
{
    char name[NAME_BYTES];
    static char directory[PATH_MAX];
    const char *given = environment_text("EKG_PROMETHEUS_DIR");
    if (given == NULL)
        given = DEFAULT_DIRECTORY;
    const char *before = given[0] == '/' ? "" : session->launch->cwd;
    put_name(name, session->launch->app, (uint64_t)SYS0(SYS_getpid));
    if (strlen(before) + strlen(given) + strlen(name) + 16 > PATH_MAX)
        return false;
    if (given[0] != '/')
        output_name(directory, before, given, "");
    else
        strcpy(directory, given);
    output_name(path, directory, name, ".prom");
    return true;
}

static void choose_labels(void)
{
    char number[24] = "";
    labels.length = 0;
    prometheus_label(&labels, "app", session->launch->app);
    text_append_number(number, sizeof number, (uint64_t)session->launch->rank, 1);
    prometheus_label(&labels, "rank", number);
    number[0] = '\0';
    text_append_number(number, sizeof number, (uint64_t)SYS0(SYS_getpid), 1);
    prometheus_label(&labels, "pid", number);
}

static bool open_prometheus(const struct session *of)
{
    session = of;
    totals = (struct process_totals){0};
    id_sums_free(&sums);
    sums.most =
        environment_nano("EKG_PROMETHEUS_IDS", NANO, (uint64_t)NANO * NANO, (uint64_t)1000 * NANO, "1000") / NANO;
    has_failed = false;
    if (!choose_path()) {
        log_warn("EKG_PROMETHEUS_DIR is too long, heartbeats go to the file instead", NULL);
        return false;
    }
    long error = output_try_file(path);
    if (error != 0) {
        log_error("cannot write for Prometheus, heartbeats go to the file instead", path, error);
        return false;
    }
    choose_labels();
    return true;
}

static void add(const struct snapshot *snapshot)
{
    id_sums_add(&sums, snapshot);
    totals.intervals++;
    totals.dropped += snapshot->dropped;
    totals.unmatched += snapshot->unmatched;
    totals.abandoned += snapshot->abandoned;
    totals.own_ns += snapshot->own_ns;
}

/* Write the file. The umask is the interval thread's own; the other sinks' files keep the program's. */
static void write_prometheus(const struct snapshot *snapshot)
{
    add(snapshot);
    text.length = 0;
    text.failed = false;
    prometheus_text(&text, &labels, session->launch->identity, &totals, &sums, snapshot);
    long mask = SYS1(SYS_umask, READABLE);
    long error = output_write_file(path, &text, false);
    SYS1(SYS_umask, mask);
    if (error == 0)
        return;
    totals.write_failures++;
    if (!has_failed)
        log_error("cannot write for Prometheus, trying again every interval", path, error);
    has_failed = true;
}

/* Remove the file: an ended process has no rate, so its series end without clean-up. */
static void close_prometheus(const struct snapshot *last)
{
    (void)last;
    sys_unlink(path);
    id_sums_free(&sums);
    buffer_free(&text);
    buffer_free(&labels);
}

static void forget_prometheus(void)
{
    id_sums_free(&sums);
    buffer_free(&text);
    buffer_free(&labels);
}

const struct sink sink_prometheus = {.name = "prometheus",
                                     .open = open_prometheus,
                                     .write = write_prometheus,
                                     .close = close_prometheus,
                                     .forget = forget_prometheus};

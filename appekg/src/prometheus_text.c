#define _GNU_SOURCE
#include "sink.h"

#include <string.h>
#include <time.h>

#include "catalogue.h"
#include "fixed_text.h"
#include "sys.h"

#define LONGEST_LABEL 256

/* Constant texts: node_exporter rejects files of two processes that describe one metric differently. */
struct metric {
    const char *name, *type, *help;
    size_t at;       /* offset of the value, a uint64_t, in its structure */
    bool seconds;    /* the value is in ns */
    bool beats_only; /* no sample without a beat in the interval */
};

#define OF_ID(field) offsetof(struct id_sum, field)
#define OF_PROCESS(field) offsetof(struct process_totals, field)

static const struct metric id_metrics[] = {
    {"appekg_beats_total", "counter", "Heartbeats that have ended.", OF_ID(all_count), false, false},
    {"appekg_pulses_total", "counter", "Heartbeats without a duration.", OF_ID(all_pulses), false, false},
    {"appekg_executions_total", "counter", "Heartbeats and pulses, with those that a rate factor skipped.",
     OF_ID(all_executions), false, false},
    {"appekg_beat_seconds_total", "counter", "Durations of the heartbeats that have ended.", OF_ID(all_sum_ns), true,
     false},
    {"appekg_busy_seconds_total", "counter", "Time that threads have spent in heartbeats, ended or not.",
     OF_ID(all_busy_ns), true, false},
    {"appekg_interval_beats", "gauge", "Heartbeats that ended in the last interval.", OF_ID(count), false, false},
    {"appekg_beat_mean_seconds", "gauge", "Mean duration of the heartbeats of the last interval.", OF_ID(mean_ns), true,
     true},
    {"appekg_beat_min_seconds", "gauge", "Shortest heartbeat of the last interval.", OF_ID(min_ns), true, true},
    {"appekg_beat_max_seconds", "gauge", "Longest heartbeat of the last interval.", OF_ID(max_ns), true, true},
    {"appekg_open_beats", "gauge", "Heartbeats in progress at the end of the last interval.", OF_ID(open), false,
     false},
    {"appekg_open_seconds", "gauge", "Time since the begin of the oldest heartbeat in progress.", OF_ID(open_ns), true,
     false},
};

static const struct metric total_metrics[] = {
    {"appekg_intervals_total", "counter", "Intervals since the start of the process.", OF_PROCESS(intervals), false,
     false},
    {"appekg_dropped_beats_total", "counter", "Heartbeats that were not recorded, because a table was full.",
     OF_PROCESS(dropped), false, false},
    {"appekg_unmatched_ends_total", "counter", "Ends of heartbeats without a begin.", OF_PROCESS(unmatched), false,
     false},
    {"appekg_abandoned_beats_total", "counter", "Heartbeats that were in progress when their thread ended.",
     OF_PROCESS(abandoned), false, false},
    {"appekg_write_failures_total", "counter", "Intervals after which this file could not be written.",
     OF_PROCESS(write_failures), false, false},
    {"appekg_own_cpu_seconds_total", "counter", "CPU time of the thread that writes this.", OF_PROCESS(own_ns), true,
     false},
};

static void put_head(struct buffer *out, const char *name, const char *type, const char *help)
{
    buffer_text(out, "# HELP ");
    buffer_text(out, name);
    buffer_u8(out, ' ');
    buffer_text(out, help);
    buffer_text(out, "\n# TYPE ");
    buffer_text(out, name);
    buffer_u8(out, ' ');
    buffer_text(out, type);
    buffer_u8(out, '\n');
}

/* `more`: labels of this sample, with a comma before each, or NULL. */
static void put_sample(struct buffer *out, const char *name, const struct buffer *labels, const char *more,
                       uint64_t value, bool seconds)
{
    buffer_text(out, name);
    buffer_u8(out, '{');
    buffer_bytes(out, labels->data, labels->length);
    if (more != NULL)
        buffer_text(out, more);
    buffer_text(out, "} ");
    if (seconds)
        buffer_nano(out, value);
    else
        buffer_decimal(out, value);
    buffer_u8(out, '\n');
}

static uint64_t value_at(const void *structure, size_t at)
{
    uint64_t value;
    memcpy(&value, (const char *)structure + at, sizeof value);
    return value;
}

void prometheus_label(struct buffer *labels, const char *key, const char *value)
{
    char text[LONGEST_LABEL];
    utf8_copy(text, sizeof text, value);
    if (labels->length > 0)
        buffer_u8(labels, ',');
    buffer_text(labels, key);
    buffer_text(labels, "=\"");
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\\' || *at == '"' || *at == '\n')
            buffer_u8(labels, '\\');
        buffer_u8(labels, *at == '\n' ? 'n' : (uint8_t)*at);
    }
    buffer_u8(labels, '"');
}

/* Append an id's labels as a zero-terminated text, the same for all its metrics. `factor`: its rate factor. */
static void put_id_labels(struct buffer *labels, uint32_t id, uint64_t *factor)
{
    struct beat beat;
    catalogue_get(id, &beat);
    buffer_text(labels, ",id=\"");
    buffer_decimal(labels, id);
    buffer_u8(labels, '"');
    if (beat.name[0] != '\0')
        prometheus_label(labels, "name", beat.name);
    buffer_u8(labels, '\0');
    *factor = beat.factor;
}

static void put_id_metrics(struct buffer *out, const struct buffer *labels, const struct id_sums *sums)
{
    static struct buffer id_labels; /* one text per id, in sequence; reused in each interval */
    uint64_t factor;
    id_labels.length = 0;
    id_labels.failed = false;
    put_head(out, "appekg_rate_factor", "gauge", "One in this many heartbeats is recorded.");
    for (size_t i = 0; i < id_sums_count(sums); i++) {
        size_t at = id_labels.length;
        put_id_labels(&id_labels, id_sums_at(sums, i)->id, &factor);
        if (id_labels.failed)
            out->failed = true;
        else
            put_sample(out, "appekg_rate_factor", labels, (const char *)id_labels.data + at, factor, false);
    }
    for (const struct metric *metric = id_metrics; metric < id_metrics + sizeof id_metrics / sizeof *metric; metric++) {
        const char *more = (const char *)id_labels.data;
        put_head(out, metric->name, metric->type, metric->help);
        for (size_t i = 0; i < id_sums_count(sums) && !out->failed; i++, more += strlen(more) + 1) {
            const struct id_sum *sum = id_sums_at(sums, i);
            if (sum->count > 0 || !metric->beats_only)
                put_sample(out, metric->name, labels, more, value_at(sum, metric->at), metric->seconds);
        }
    }
}

static void put_gauge(struct buffer *out, const struct buffer *labels, const char *name, const char *help,
                      uint64_t value, bool seconds)
{
    put_head(out, name, "gauge", help);
    put_sample(out, name, labels, NULL, value, seconds);
}

void prometheus_text(struct buffer *out, const struct buffer *labels, const char *launch,
                     const struct process_totals *totals, const struct id_sums *sums, const struct snapshot *snapshot)
{
    put_id_metrics(out, labels, sums);
    for (size_t i = 0; i < sizeof total_metrics / sizeof *total_metrics; i++) {
        const struct metric *metric = &total_metrics[i];
        put_head(out, metric->name, metric->type, metric->help);
        put_sample(out, metric->name, labels, NULL, value_at(totals, metric->at), metric->seconds);
    }
    put_gauge(out, labels, "appekg_threads", "Threads that have had a heartbeat and not ended.", snapshot->threads,
              false);
    put_gauge(out, labels, "appekg_enabled", "1 while heartbeats are recorded, 0 while they are switched off.",
              snapshot->enabled, false);
    put_gauge(out, labels, "appekg_left_out", "Rows of the last interval that are not here: too many ids.",
              sums->left_out, false);
    put_gauge(out, labels, "appekg_interval_seconds", "Length of the last interval.",
              snapshot->end_ns - snapshot->start_ns, true);
    put_gauge(out, labels, "appekg_last_write_timestamp_seconds", "When this file was written.",
              sys_clock_ns(CLOCK_REALTIME), true);
    struct buffer info = {0};
    buffer_u8(&info, '\0'); /* not the first label, so a comma precedes it */
    prometheus_label(&info, "launch", launch);
    buffer_u8(&info, '\0');
    put_head(out, "appekg_info", "gauge", "Always 1; its label tells the job or launch of the process.");
    if (!info.failed)
        put_sample(out, "appekg_info", labels, (const char *)info.data + 1, 1, false);
    buffer_free(&info);
}

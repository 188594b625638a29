/* The default sink: one append-only text file per process (docs/reference/formats.md, Heartbeats). */
#define _GNU_SOURCE
#include <string.h>

#include "buffer.h"
#include "catalogue.h"
#include "launch.h"
#include "log.h"
#include "output.h"
#include "sink.h"
#include "sys.h"
#include "thinning.h"

#ifndef INCPROF_VERSION
#error "INCPROF_VERSION comes from the build"
#endif

#define COLUMNS "interval,thread,id,count,pulses,sum_ns,min_ns,max_ns,sumsq_ns2,nested_ns,open,open_ns,executions\n"
#define MOST_WRITTEN_LINES 16384u /* ids whose line is not repeated; beyond, it is */

static const struct session *session;
static struct output file;
static struct buffer block;
static bool is_open, has_head, has_failed, has_spoken;
static bool repeats_threads; /* a lost block may have contained a thread's line */
static uint64_t lost_intervals, lost_rows;
static uint32_t scanned_changes; /* the catalogue's change count at its last scan */
static struct written_lines {
    uint32_t id, version; /* one more than the catalogue's; 0 in a free entry */
} written_lines[MOST_WRITTEN_LINES];

static void put_cost(struct cost cost)
{
    if (cost.pair_ps == 0)
        return;
    buffer_json_nano(&block, "pair_ns", cost.pair_ps * 1000000);
    buffer_json_nano(&block, "skipped_ns", cost.skipped_ps * 1000000);
}

/* Write the header, with the first interval, when the interval thread has measured the cost. */
static void put_head(void)
{
    buffer_text(&block, "#appekg ");
    buffer_u8(&block, '{');
    buffer_json_text(&block, "format", "appekg");
    buffer_json_u64(&block, "version", 1);
    buffer_json_text(&block, "tool", INCPROF_VERSION);
    process_json(&block, session->launch, session->start_ns, session->forked);
    buffer_json_nano(&block, "interval_s", session->config->interval_ns);
    put_cost(cost_measured());
    buffer_text(&block, "}\n" COLUMNS);
}

/* Open nothing yet: the interval thread opens the file, in its own descriptor table. */
static bool open_file(const struct session *of)
{
    session = of;
    is_open = has_head = has_failed = has_spoken = repeats_threads = false;
    lost_intervals = lost_rows = 0;
    scanned_changes = catalogue_changes();
    memset(written_lines, 0, sizeof written_lines);
    return true;
}

static long append(void)
{
    long error = output_append(&file, &block);
    block.length = 0;
    block.failed = false;
    return error;
}

/* Create the file and its header if necessary. Returns 0 or negative errno. */
static long prepare(void)
{
    long error = is_open ? 0 : output_create_for_rank(&file, session->launch, ".ekg", session->forked);
    is_open = error == 0;
    if (!is_open || has_head)
        return error;
    put_head();
    error = append();
    has_head = error == 0;
    return error;
}

/* Return whether the current line of this id is in the file or in this block. */
static bool is_line_written(const struct beat *beat)
{
    for (uint32_t step = 0; step < 64; step++) {
        struct written_lines *entry = &written_lines[(beat->id + step) % MOST_WRITTEN_LINES];
        if (entry->version != 0 && entry->id != beat->id)
            continue;
        bool same = entry->version == beat->version + 1;
        *entry = (struct written_lines){beat->id, beat->version + 1};
        return same;
    }
    return false;
}

static void put_beat(uint32_t id)
{
    struct beat beat;
    catalogue_get(id, &beat);
    if (is_line_written(&beat))
        return;
    buffer_text(&block, "#beat {");
    buffer_json_u64(&block, "id", id);
    buffer_json_text(&block, "name", beat.name[0] != '\0' ? beat.name : NULL);
    buffer_json_u64(&block, "rate_factor", beat.factor);
    buffer_text(&block, "}\n");
}

/* Write names set after the last beat of their id, such as those of ids that beat only before main. */
static void put_renamed(void)
{
    uint32_t changes = catalogue_changes();
    if (changes == scanned_changes)
        return;
    scanned_changes = changes;
    for (uint32_t i = 0; i < MOST_WRITTEN_LINES; i++)
        if (written_lines[i].version != 0)
            put_beat(written_lines[i].id);
}

static void put_thread(const struct row *row)
{
    buffer_text(&block, "#thread {");
    buffer_json_u64(&block, "thread", row->thread);
    buffer_json_u64(&block, "tid", (uint64_t)row->tid);
    buffer_text(&block, "}\n");
}

static void put_row(uint64_t interval, const struct row *row)
{
    const uint64_t before[] = {interval,    row->thread, row->id,     row->count,
                               row->pulses, row->sum_ns, row->min_ns, row->max_ns};
    const uint64_t after[] = {row->nested_ns, row->open, row->open_ns, row->executions};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        buffer_decimal(&block, before[i]);
        buffer_u8(&block, ',');
    }
    put_double(&block, row->sumsq_ns2);
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        buffer_u8(&block, ',');
        buffer_decimal(&block, after[i]);
    }
    buffer_u8(&block, '\n');
}

static void put_interval(const struct snapshot *snapshot)
{
    buffer_text(&block, "#interval {");
    buffer_json_u64(&block, "interval", snapshot->number);
    buffer_json_u64(&block, "start_ns", snapshot->start_ns);
    buffer_json_u64(&block, "end_ns", snapshot->end_ns);
    buffer_json_u64(&block, "rows", snapshot->count);
    buffer_json_u64(&block, "threads", snapshot->threads);
    buffer_json_u64(&block, "dropped", snapshot->dropped);
    buffer_json_u64(&block, "unmatched", snapshot->unmatched);
    buffer_json_u64(&block, "abandoned", snapshot->abandoned);
    buffer_json_u64(&block, "lost_intervals", lost_intervals);
    buffer_json_u64(&block, "lost_rows", lost_rows);
    buffer_json_u64(&block, "own_ns", snapshot->own_ns);
    buffer_json_text(&block, "clock", snapshot->clock);
    buffer_json_bool(&block, "enabled", snapshot->enabled);
    uint32_t sum = crc32(block.data, block.length);
    buffer_json_key(&block, "crc32");
    buffer_u8(&block, '"');
    for (int shift = 28; shift >= 0; shift -= 4)
        buffer_u8(&block, (uint8_t)"0123456789abcdef"[sum >> shift & 15]);
    buffer_text(&block, "\"}\n");
}

/* Count an interval that cannot be written. Writing is retried with the next one, because a disk may have room
 * again. */
static void lose(const struct snapshot *snapshot, long error)
{
    if (!has_spoken)
        log_error("cannot write heartbeats, trying again every interval", session->launch->directory, error);
    has_failed = has_spoken = repeats_threads = true;
    lost_intervals++;
    lost_rows += snapshot->count;
    memset(written_lines, 0, sizeof written_lines);
}

/* Write the lines of the threads. The rows of a thread are consecutive. */
static void put_threads(const struct snapshot *snapshot)
{
    const struct row *row = snapshot->rows;
    for (size_t i = 0; i < snapshot->count; i++, row++)
        if (row->first || (repeats_threads && (i == 0 || row->thread != row[-1].thread)))
            put_thread(row);
}

static void write_interval(const struct snapshot *snapshot)
{
    long error = prepare();
    if (error == 0) {
        for (size_t i = 0; i < snapshot->count; i++)
            put_beat(snapshot->rows[i].id);
        put_renamed();
        put_threads(snapshot);
        for (size_t i = 0; i < snapshot->count; i++)
            put_row(snapshot->number, &snapshot->rows[i]);
        put_interval(snapshot);
        error = append();
    }
    if (error != 0) {
        lose(snapshot, error);
        return;
    }
    has_failed = false;
    lost_intervals = lost_rows = 0;
}

static void close_file(const struct snapshot *last)
{
    if (!is_open)
        return;
    buffer_text(&block, "#end {");
    buffer_json_u64(&block, "end_ns", last->end_ns);
    buffer_text(&block, "}\n");
    if (has_head && !has_failed)
        append();
    sys_close(file.fd);
    is_open = false;
}

static void forget_file(void)
{
    buffer_free(&block);
    is_open = false;
}

const struct sink sink_file = {
    .name = "file", .open = open_file, .write = write_interval, .close = close_file, .forget = forget_file};

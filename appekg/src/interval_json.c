#define _GNU_SOURCE
#include "sink.h"

#include <sys/utsname.h>
#include <time.h>

#include "catalogue.h"
#include "fixed_text.h"
#include "sys.h"

#define LONGEST_TEXT 256

/* Append a text. JSON is UTF-8: invalid bytes become question marks. */
static void put_text(struct buffer *out, const char *key, const char *text)
{
    char clean[LONGEST_TEXT];
    utf8_copy(clean, sizeof clean, text);
    buffer_json_text(out, key, clean);
}

static void put_process(struct buffer *out, const struct session *session)
{
    struct utsname names;
    bool has_names = SYS1(SYS_uname, &names) == 0;
    put_text(out, "app", session->launch->app);
    put_text(out, "host", has_names ? names.nodename : "");
    put_text(out, "launch", session->launch->identity);
    buffer_json_u64(out, "rank", (uint64_t)session->launch->rank);
    buffer_json_u64(out, "pid", (uint64_t)SYS0(SYS_getpid));
}

/* Append the time, by the current clock, which may have been set since the start. */
static void put_time(struct buffer *out, const struct session *session, const struct snapshot *snapshot)
{
    uint64_t since_ns = monotonic_ns() - (session->start_ns + snapshot->end_ns);
    uint64_t end_ns = sys_clock_ns(CLOCK_REALTIME) - since_ns;
    buffer_json_u64(out, "interval", snapshot->number);
    buffer_json_nano(out, "start", end_ns - (snapshot->end_ns - snapshot->start_ns));
    buffer_json_nano(out, "end", end_ns);
}

static void put_sum(struct buffer *out, const struct id_sum *sum)
{
    struct beat beat;
    catalogue_get(sum->id, &beat);
    buffer_u8(out, '{');
    buffer_json_u64(out, "id", sum->id);
    buffer_json_text(out, "name", beat.name);
    buffer_json_u64(out, "rate_factor", beat.factor);
    buffer_json_u64(out, "threads", sum->threads);
    buffer_json_u64(out, "count", sum->count);
    buffer_json_u64(out, "pulses", sum->pulses);
    buffer_json_u64(out, "executions", sum->executions);
    buffer_json_u64(out, "sum_ns", sum->sum_ns);
    buffer_json_u64(out, "min_ns", sum->min_ns);
    buffer_json_u64(out, "max_ns", sum->max_ns);
    buffer_json_key(out, "sumsq_ns2");
    put_double(out, sum->sumsq_ns2);
    buffer_json_u64(out, "nested_ns", sum->nested_ns);
    buffer_json_u64(out, "open", sum->open);
    buffer_json_u64(out, "open_ns", sum->open_ns);
    buffer_u8(out, '}');
}

void interval_json(struct buffer *out, const struct session *session, const struct snapshot *snapshot,
                   const struct id_sums *sums, uint64_t lost)
{
    bool first = true;
    buffer_u8(out, '{');
    buffer_json_text(out, "schema", "appekg");
    buffer_json_u64(out, "version", 1);
    put_process(out, session);
    put_time(out, session, snapshot);
    buffer_json_u64(out, "threads", snapshot->threads);
    buffer_json_u64(out, "dropped", snapshot->dropped);
    buffer_json_u64(out, "unmatched", snapshot->unmatched);
    buffer_json_u64(out, "abandoned", snapshot->abandoned);
    buffer_json_u64(out, "left_out", sums->left_out);
    buffer_json_u64(out, "lost", lost);
    buffer_json_key(out, "beats");
    buffer_u8(out, '[');
    for (size_t i = 0; i < id_sums_count(sums); i++) {
        const struct id_sum *sum = id_sums_at(sums, i);
        if (sum->threads == 0)
            continue;
        if (!first)
            buffer_u8(out, ',');
        put_sum(out, sum);
        first = false;
    }
    buffer_text(out, "]}");
}

/* Thread safety: only the writing thread; lines_forget runs in a forked child, which has none. */
#define _GNU_SOURCE
#include "session.h"

#include <stddef.h>

#include "buffer.h"
#include "functions.h"
#include "launch.h"
#include "log.h"
#include "output.h"
#include "regions.h"
#include "sys.h"

static struct output file = {.fd = -1};
static struct buffer out;
static size_t functions_written, regions_written;
static uint64_t iterations_written[MOST_REGIONS];
static uint64_t calls_written;

static void begin_line(const char *type)
{
    buffer_u8(&out, '{');
    buffer_json_text(&out, "type", type);
}

static void end_line(void)
{
    buffer_text(&out, "}\n");
}

static void put_start(const struct launch *launch, const struct settings *settings, uint64_t start_ns, bool forked)
{
    begin_line("start");
    buffer_json_text(&out, "format", "incprof-selfanalyze");
    buffer_json_u64(&out, "version", 1);
    buffer_json_text(&out, "tool", INCPROF_VERSION);
    buffer_json_nano(&out, "interval_s", settings->interval_ns);
    buffer_json_u64(&out, "window", (uint64_t)settings->window);
    buffer_json_u64(&out, "fewer_threads", (uint64_t)settings->baseline_threads);
    process_json(&out, launch, start_ns, forked);
    end_line();
}

static void put_function(const struct launch *launch, const struct function *function)
{
    bool has_module = function->module < MOST_MODULES;
    const struct module *module = has_module ? functions_module(function->module) : NULL;
    begin_line("function");
    buffer_json_u64(&out, "id", function->id);
    buffer_json_address(&out, "address", function->address);
    /* The loader has no name for the program. */
    buffer_json_text(&out, "module", !has_module ? NULL : module->path[0] != '\0' ? module->path : launch->exe);
    buffer_json_text(&out, "build_id", has_module && module->build_id[0] != '\0' ? module->build_id : NULL);
    end_line();
}

static void put_region(const struct region *region, size_t id)
{
    begin_line("region");
    buffer_json_u64(&out, "id", id);
    buffer_json_text(&out, "kind", region->is_explicit ? "explicit" : "detected");
    buffer_json_text(&out, "name", region->is_explicit ? region->name : NULL);
    buffer_json_key(&out, "hash");
    buffer_text(&out, "\"");
    buffer_hex(&out, region->hash);
    buffer_text(&out, "\"");
    buffer_json_key(&out, "functions");
    buffer_u8(&out, '[');
    for (uint32_t i = 0; i < region->member_count; i++) {
        if (i > 0)
            buffer_u8(&out, ',');
        buffer_decimal(&out, region->members[i]);
    }
    buffer_u8(&out, ']');
    end_line();
}

/* Newton's method, from above, without libm in this thread. */
static uint64_t square_root(double value)
{
    double root = value < 1 ? 1 : value;
    for (int i = 0; i < 2000; i++) {
        double better = (root + value / root) / 2;
        if (better >= root)
            break;
        root = better;
    }
    return (uint64_t)(root + 0.5);
}

static void put_times(const char *key, const struct times *times)
{
    double variance = times->count > 1 ? times->squares / (double)(times->count - 1) : 0;
    buffer_json_key(&out, key);
    buffer_u8(&out, '{');
    buffer_json_u64(&out, "count", times->count);
    buffer_json_u64(&out, "mean_ns", (uint64_t)(times->mean_ns + 0.5));
    buffer_json_u64(&out, "std_ns", variance > 0 ? square_root(variance) : 0);
    buffer_json_u64(&out, "min_ns", times->min_ns);
    buffer_json_u64(&out, "max_ns", times->max_ns);
    buffer_u8(&out, '}');
}

static void put_state(const struct region *region, size_t id, uint64_t start_ns, uint64_t now_ns)
{
    begin_line("state");
    buffer_json_u64(&out, "id", id);
    buffer_json_u64(&out, "at_ns", now_ns - start_ns);
    buffer_json_u64(&out, "depth", region->depth); /* grows when surrounding loops are found */
    buffer_json_u64(&out, "period", region->is_explicit ? region->length : region->period);
    buffer_json_u64(&out, "longest_period", region->is_explicit ? region->length : region->longest_period);
    buffer_json_u64(&out, "visits", region->episodes);
    buffer_json_u64(&out, "iterations", region->iterations);
    buffer_json_u64(&out, "expected", region->expected);
    buffer_json_u64(&out, "threads", (uint64_t)region->threads);
    buffer_json_u64(&out, "fewest_threads", (uint64_t)region->fewest_threads);
    buffer_json_u64(&out, "first_ns", region->first_ns > start_ns ? region->first_ns - start_ns : 0);
    buffer_json_u64(&out, "last_ns", region->last_ns > start_ns ? region->last_ns - start_ns : 0);
    buffer_json_u64(&out, "total_ns", region->span_ns + region->episode_ns);
    buffer_json_u64(&out, "self_ns", region->self_ns);
    buffer_json_u64(&out, "parallel_ns", region->parallel_ns);
    put_times("times", &region->times);
    put_times("fewer", &region->fewer);
    end_line();
}

static void put_totals(const char *type, uint64_t start_ns, uint64_t now_ns)
{
    begin_line(type);
    buffer_json_u64(&out, "at_ns", now_ns - start_ns);
    buffer_json_u64(&out, "parallel_regions", loops_calls());
    buffer_json_u64(&out, "other_threads", loops_other_calls());
    buffer_json_u64(&out, "regions_lost", regions_lost());
    end_line();
}

/* Write the regions, after the functions that they contain. */
static void put_regions(const struct launch *launch, uint64_t start_ns, uint64_t now_ns)
{
    const struct region *regions;
    long count = regions_copy(&regions);
    for (size_t functions = functions_count(); functions_written < functions; functions_written++)
        put_function(launch, functions_get(functions_written));
    for (long id = 0; id < count; id++) {
        if ((size_t)id >= regions_written)
            put_region(&regions[id], (size_t)id);
        else if (regions[id].iterations == iterations_written[id] && regions[id].episode_ns == 0)
            continue;
        iterations_written[id] = regions[id].iterations;
        put_state(&regions[id], (size_t)id, start_ns, now_ns);
    }
    if (count > (long)regions_written)
        regions_written = (size_t)count;
}

bool lines_write(const struct launch *launch, const struct settings *settings, uint64_t start_ns, bool forked,
                 bool last)
{
    uint64_t now_ns = monotonic_ns();
    out.length = 0;
    out.failed = false;
    long error = 0;
    if (file.fd < 0) {
        error = output_create_for_rank(&file, launch, ".sa", forked);
        put_start(launch, settings, start_ns, forked);
    }
    put_regions(launch, start_ns, now_ns);
    if (last || loops_calls() != calls_written)
        put_totals(last ? "end" : "progress", start_ns, now_ns);
    calls_written = loops_calls();
    if (error == 0 && out.length > 0)
        error = output_append(&file, &out);
    if (error != 0)
        log_error("cannot write, the analysis stops here", launch->directory, error);
    return error == 0;
}

void lines_forget(void)
{
    file.fd = -1;
    out = (struct buffer){0};
    functions_written = regions_written = 0;
    calls_written = 0;
    for (size_t i = 0; i < MOST_REGIONS; i++)
        iterations_written[i] = 0;
}

#define _GNU_SOURCE
#include "recording.h"

#include "launch.h"
#include "modules.h"

#ifndef INCPROF_VERSION
#error "INCPROF_VERSION comes from the build"
#endif

static void put_modules(struct buffer *out)
{
    buffer_json_key(out, "modules");
    buffer_u8(out, '[');
    for (size_t id = 0; id < modules_count(); id++) {
        if (id > 0)
            buffer_u8(out, ',');
        modules_json(out, id);
    }
    buffer_u8(out, ']');
}

void metadata_json(struct buffer *out, const struct config *config, const struct launch *launch, uint64_t start_ns,
                   bool forked)
{
    const struct module *program = modules_count() > 0 ? modules_get(0) : NULL;
    buffer_u8(out, '{');
    buffer_json_text(out, "format", "incprof-stream");
    buffer_json_u64(out, "version", 1);
    buffer_json_text(out, "tool", INCPROF_VERSION);
    buffer_json_text(out, "build_id", program != NULL && program->build_id[0] != '\0' ? program->build_id : NULL);
    buffer_json_nano(out, "interval_s", config->interval_ns);
    buffer_json_u64(out, "rate_hz", config->rate_hz);
    buffer_json_text(out, "clock", config->clock == CLOCK_PERF ? "perf" : "cpu");
    if (config->call_ps > 0)
        buffer_json_u64(out, "call_ps", config->call_ps);
    // Ranks without a file are then no damage.
    if (config->ranks != NULL || config->exe != NULL)
        buffer_json_bool(out, "selected", true);
    if (launch->pid != 0)
        buffer_json_bool(out, "attached", true);
    process_json(out, launch, start_ns, forked);
    put_modules(out);
    buffer_u8(out, '}');
}

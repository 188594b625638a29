#define _GNU_SOURCE
#include "recording.h"

#include <string.h>

#include "fixed_text.h"
#include "jit_names.h"
#include "log.h"
#include "modules.h"
#include "output.h"
#include "sys.h"

/* Data larger than this is dropped only after a wait. */
#define MUCH_BYTES ((size_t)1 << 20)
#define PATIENCE_NS 100000000u

static void fail(struct recording *recording, long error)
{
    recording->broken = true;
    log_error("cannot write, recording stops here", recording->launch->directory, error);
}

static void keep_symbols_of(struct recording *recording, size_t id)
{
    const struct module *module = modules_get(id);
    uint8_t *bits = &recording->copied[id / 8];
    if (!module->app || module->jit || (*bits >> id % 8 & 1) != 0)
        return;
    *bits |= (uint8_t)(1u << id % 8);
    snapshot_write(recording->launch->directory, module);
}

/* Copy symbols: of the program and of modules that count calls at once, of a library once it occurs in a path. Most
 * loaded libraries never do. */
static void keep_symbols(struct recording *recording, const struct interval *interval, bool is_end)
{
    for (; recording->modules_checked < modules_count(); recording->modules_checked++)
        if (recording->modules_checked == 0 || modules_get(recording->modules_checked)->counts)
            keep_symbols_of(recording, recording->modules_checked);
    const struct path_node *nodes = (const struct path_node *)(const void *)interval->paths.records;
    for (; recording->nodes_checked < interval->paths.count; recording->nodes_checked++)
        if (nodes[recording->nodes_checked].module < modules_count())
            keep_symbols_of(recording, nodes[recording->nodes_checked].module);
    if (modules_have_jit() && recording->config->format == FORMAT_STREAM)
        jit_names_keep(recording->launch->directory, is_end);
}

/* The interval thread writes them itself, only while no write is pending, because the file system may stall. Rank 0
 * copies from its start; the other ranks wait until their first interval is complete, when the common files exist. */
void recording_keep_symbols(struct recording *recording, const struct interval *interval)
{
    bool early = recording->launch->rank != 0 && recording->intervals < 2;
    if (recording->open && !early && (!recording->has_writer || writer_waiting() == 0))
        keep_symbols(recording, interval, false);
}

static void put_metadata(struct recording *recording)
{
    metadata_json(&recording->data, recording->config, recording->launch, recording->start_ns, recording->forked);
}

/* Open the node's file or, if that fails, a file of the process's own. */
static long open_file(struct recording *recording)
{
    if (recording->config->gather == GATHER_NODE && node_file_open(&recording->file, recording->launch) == 0)
        return 0;
    /* The rank's first file name is for the program that it runs, not for that program's parents or children. */
    return output_create_for_rank(&recording->file, recording->launch, ".gmon", recording->opening == OPEN_LATE);
}

/* Data between begin_append and end_append is appended as a whole. */
static void begin_append(struct recording *recording)
{
    recording->data.length = 0;
    if (recording->file.is_shared)
        node_file_begin_chunk(&recording->data);
}

/* Queue the data. Data larger than the queue is written here, once no write is pending. */
static long queue_data(struct recording *recording)
{
    const struct buffer *data = &recording->data;
    if (data->failed)
        return -ENOMEM;
    long error = writer_error();
    if (error != 0 || writer_put(data))
        return error;
    uint64_t patience_ns = data->length > MUCH_BYTES ? PATIENCE_NS : 0;
    if (!writer_flush(monotonic_ns() + patience_ns))
        return -EAGAIN;
    error = writer_error();
    return error != 0 || writer_put(data) ? error : output_append(&recording->file, data);
}

/* Return 0 or negative errno; -EAGAIN if there is no room, and nothing has been done. */
static long end_append(struct recording *recording)
{
    if (recording->file.is_shared)
        node_file_end_chunk(&recording->data, &recording->stream);
    long error = recording->has_writer ? queue_data(recording) : output_append(&recording->file, &recording->data);
    if (error == -EAGAIN && recording->file.is_shared)
        recording->stream.chunks--;
    return error;
}

static long open_stream(struct recording *recording)
{
    long error = open_file(recording);
    if (error != 0)
        return error;
    recording->modules_written = modules_count();
    begin_append(recording);
    size_t start = stream_begin_image(&recording->data, IMAGE_METADATA, 0, 0);
    put_metadata(recording);
    stream_end_image(&recording->data, start);
    return end_append(recording);
}

static void name_gmon(struct recording *recording, char *path, const char *stem, uint64_t number, const char *suffix)
{
    struct buffer *name = &recording->data;
    name->length = 0;
    buffer_text(name, stem);
    if (number != UINT64_MAX) {
        buffer_u8(name, '-');
        buffer_decimal(name, number);
    }
    buffer_u8(name, '.');
    buffer_decimal(name, (uint64_t)recording->launch->rank);
    buffer_text(name, recording->suffix);
    buffer_u8(name, '\0');
    output_name(path, recording->launch->directory, (const char *)name->data, suffix);
    name->length = 0;
}

/* Write the metadata first, under a name that identifies the process, and this one among the programs that it
 * executes. */
static long open_gmon(struct recording *recording)
{
    char path[PATH_MAX];
    long error = -EEXIST;
    if (!buffer_reserve(&recording->data, 4096))
        return -ENOMEM;
    for (uint64_t attempt = recording->forked ? 1 : 0; attempt < OUTPUT_MOST_NAMES && error == -EEXIST; attempt++) {
        recording->suffix[0] = '\0';
        output_append_process(recording->suffix, sizeof recording->suffix, recording->launch, attempt);
        name_gmon(recording, path, "gmon-meta", UINT64_MAX, ".json");
        put_metadata(recording);
        error = output_write_file(path, &recording->data, true);
    }
    return error;
}

static long write_gmon(struct recording *recording, const struct interval *interval)
{
    char path[PATH_MAX];
    name_gmon(recording, path, "gmon", interval->number, "");
    /* A plain gmon.out: the spare bytes of its header are zero. */
    stream_begin_image(&recording->data, IMAGE_GMON, 0, 0);
    unsigned int parts = PART_OWN | (recording->config->charge_libraries ? PART_LIBRARY : 0);
    stream_profile(&recording->data, interval, modules_get(0), recording->config->rate_hz, parts);
    recording->intervals++;
    return output_write_file(path, &recording->data, false);
}

static long append_interval(struct recording *recording, struct interval *interval,
                            const struct interval_record *record)
{
    begin_append(recording);
    stream_interval(&recording->data, interval, record, recording->config->rate_hz, recording->modules_written);
    long error = end_append(recording);
    if (error == -EAGAIN) {
        recording->dropped++;
        return 0;
    }
    if (error != 0)
        return error;
    recording->dropped = 0;
    recording->intervals++;
    recording->modules_written = modules_count();
    interval->paths_written = interval->paths.count;
    return 0;
}

void recording_begin(struct recording *recording, const struct config *config, const struct launch *launch,
                     uint64_t start_ns, bool forked, enum opening opening)
{
    struct buffer data = recording->data;
    *recording = (struct recording){
        .config = config, .launch = launch, .start_ns = start_ns, .forked = forked, .opening = opening};
    recording->file.fd = -1;
    recording->data = data;
    recording->stream = (struct node_stream){
        .rank = (uint32_t)launch->rank, .pid = (uint32_t)launch_pid(launch), .start_ns = start_ns, .forked = forked};
}

static long open_now(struct recording *recording, const struct interval *interval)
{
    recording->data.failed = false;
    long error = recording->config->format == FORMAT_GMON ? open_gmon(recording) : open_stream(recording);
    if (error != 0)
        return error;
    recording->open = true;
    recording_keep_symbols(recording, interval);
    /* A recorder outside the process delays no one. */
    bool is_inside = recording->launch->pid == 0;
    recording->has_writer = is_inside && recording->config->format == FORMAT_STREAM && writer_start(&recording->file);
    return 0;
}

bool recording_open_early(struct recording *recording, const struct interval *interval)
{
    long error = open_now(recording, interval);
    bool may_pass = error == -EMFILE || error == -ENFILE;
    if (error != 0 && !may_pass)
        fail(recording, error);
    return error == 0 || may_pass;
}

void recording_park(struct recording *recording)
{
    if (recording->has_writer)
        writer_flush(monotonic_ns() + RECORDING_LONGEST_FLUSH_NS);
}

void recording_resume(struct recording *recording)
{
    recording->has_writer = recording->has_writer && writer_start(&recording->file);
}

bool recording_takes(const struct recording *recording, const struct interval *interval)
{
    return recording->open || recording->opening != OPEN_LATE || !interval_is_empty(interval);
}

bool recording_interval(struct recording *recording, struct interval *interval, const struct interval_record *record)
{
    if (recording->broken)
        return false;
    if (!recording_takes(recording, interval))
        return true;
    if (!recording->open) {
        long error = open_now(recording, interval);
        if (error != 0) {
            fail(recording, error);
            return false;
        }
    }
    recording->data.failed = false;
    bool gmon = recording->config->format == FORMAT_GMON;
    long error = gmon ? write_gmon(recording, interval) : append_interval(recording, interval, record);
    if (error != 0)
        fail(recording, error);
    recording->samples += record->samples;
    recording->lost += record->lost;
    /* From outside, the cost is the recorder's, not the process's. */
    recording->cpu_ns += record->cpu_ns - (recording->launch->pid != 0 ? record->collector_ns : 0);
    return error == 0;
}

static long append_end(struct recording *recording, uint64_t end_ns)
{
    struct buffer json = {0};
    begin_append(recording);
    buffer_u8(&json, '{');
    buffer_json_u64(&json, "end_ns", end_ns);
    buffer_json_u64(&json, "samples", recording->samples);
    buffer_json_u64(&json, "lost", recording->lost);
    buffer_json_u64(&json, "cpu_ns", recording->cpu_ns);
    if (recording->gpu != GPU_NOT_ASKED) {
        buffer_json_u64(&json, "gpu", recording->gpu);
        buffer_json_text(&json, "gpu_reason", gpu_use_reason(recording->gpu));
    }
    buffer_u8(&json, '}');
    size_t start = stream_begin_image(&recording->data, IMAGE_END, 0, 0);
    buffer_bytes(&recording->data, json.data, json.length);
    stream_end_image(&recording->data, start);
    buffer_free(&json);
    return end_append(recording);
}

/* Give up pending intervals; the queued end record does not count. */
static void give_up(struct recording *recording, uint64_t left)
{
    char text[32] = "";
    left += recording->dropped;
    text_append_number(text, sizeof text, left, 1);
    text_append(text, sizeof text, left == 1 ? " interval" : " intervals");
    recording->intervals -= left < recording->intervals ? left : recording->intervals;
    log_warn("the file system does not respond, not waiting for it any more: not written", text);
}

void recording_end(struct recording *recording, const struct interval *interval, uint64_t end_ns)
{
    if (!recording->open || recording->broken || recording->config->format == FORMAT_GMON)
        return;
    uint64_t deadline_ns = monotonic_ns() + RECORDING_LONGEST_FLUSH_NS;
    if (recording->has_writer && !writer_flush(deadline_ns)) {
        give_up(recording, writer_waiting());
        return;
    }
    keep_symbols(recording, interval, true);
    long error = append_end(recording, end_ns);
    if (recording->has_writer && error == 0) {
        writer_flush(deadline_ns);
        error = writer_error();
    }
    if (error != 0)
        fail(recording, error);
}

#define _GNU_SOURCE
#include "stream.h"

#include <string.h>

#include "buffer.h"

#define HEADER_BYTES 20
#define SUM_AT 9
#define LENGTH_AT 12

enum { TAG_HISTOGRAM = 0, TAG_ARC = 1 };

size_t stream_begin_image(struct buffer *out, enum image_kind kind, uint16_t module, uint32_t number)
{
    size_t start = out->length;
    buffer_text(out, "gmon");
    buffer_u32(out, 1);
    buffer_u8(out, (uint8_t)kind);
    buffer_u8(out, 0);
    buffer_u16(out, module);
    buffer_u32(out, 0);
    buffer_u32(out, number);
    return start;
}

void stream_end_image(struct buffer *out, size_t start)
{
    if (out->failed)
        return;
    uint32_t length = (uint32_t)(out->length - start - HEADER_BYTES);
    memcpy(out->data + start + LENGTH_AT, &length, sizeof length);
    /* 0 means no checksum. */
    out->data[start + SUM_AT] = (uint8_t)(crc32(out->data + start, out->length - start) % 255 + 1);
}

static void put_histogram(struct buffer *out, uint64_t low, uint64_t rate_hz, const uint16_t *bins)
{
    static const char unit[] = "seconds\0\0\0\0\0\0\0\0s";
    buffer_u8(out, TAG_HISTOGRAM);
    buffer_u64(out, low);
    buffer_u64(out, low + BLOCK_BYTES);
    buffer_u32(out, BLOCK_BINS);
    buffer_u32(out, (uint32_t)rate_hz);
    buffer_bytes(out, unit, sizeof unit - 1);
    buffer_bytes(out, bins, BLOCK_BINS * sizeof *bins);
}

/* Bins have 16 bits: the excess goes into further records of the same range, which readers add up. */
static void put_block(struct buffer *out, const struct block *block, uint64_t rate_hz)
{
    uint32_t rest[BLOCK_BINS];
    bool more = true;
    memcpy(rest, block->bins, sizeof rest);
    while (more) {
        uint16_t bins[BLOCK_BINS];
        more = false;
        for (int i = 0; i < BLOCK_BINS; i++) {
            bins[i] = rest[i] < UINT16_MAX ? (uint16_t)rest[i] : UINT16_MAX;
            rest[i] -= bins[i];
            more |= rest[i] > 0;
        }
        put_histogram(out, block->low, rate_hz, bins);
    }
}

static void put_arc(struct buffer *out, uint64_t from, uint64_t self, uint64_t count)
{
    do {
        uint32_t part = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
        buffer_u8(out, TAG_ARC);
        buffer_u64(out, from);
        buffer_u64(out, self);
        buffer_u32(out, part);
        count -= part;
    } while (count > 0);
}

static size_t put_histograms(struct buffer *out, const struct interval *interval, const struct module *module,
                             uint64_t rate_hz, unsigned int parts)
{
    size_t written = 0;
    for (size_t i = 0; i < interval->blocks.count; i++) {
        const struct block *block = table_record(&interval->blocks, i);
        unsigned int part = block->library ? PART_LIBRARY : PART_OWN;
        if (block->module != module->id || (parts & part) == 0)
            continue;
        put_block(out, block, rate_hz);
        written++;
    }
    return written;
}

static size_t put_arcs(struct buffer *out, const struct interval *interval, const struct module *module)
{
    size_t written = 0;
    for (size_t i = 0; i < interval->calls.count; i++) {
        const struct call *call = table_record(&interval->calls, i);
        if (call->module != module->id)
            continue;
        put_arc(out, call->from, call->self, call->count);
        written++;
    }
    return written;
}

void stream_profile(struct buffer *out, const struct interval *interval, const struct module *module, uint64_t rate_hz,
                    unsigned int parts)
{
    static const uint16_t nothing[BLOCK_BINS];
    size_t histograms = put_histograms(out, interval, module, rate_hz, parts);
    if ((parts & PART_OWN) == 0)
        return;
    /* Stock gprof wants at least one record of each kind. */
    if (histograms == 0)
        put_histogram(out, module->low & ~(uint64_t)(BLOCK_BYTES - 1), rate_hz, nothing);
    if (put_arcs(out, interval, module) == 0)
        put_arc(out, module->low, module->low, 0);
}

/* Return whether the interval contains this part of the module. */
static bool has_part(const struct interval *interval, const struct module *module, uint32_t library)
{
    for (size_t i = 0; i < interval->blocks.count; i++) {
        const struct block *block = table_record(&interval->blocks, i);
        if (block->module == module->id && block->library == library)
            return true;
    }
    for (size_t i = 0; !library && i < interval->calls.count; i++) {
        const struct call *call = table_record(&interval->calls, i);
        if (call->module == module->id)
            return true;
    }
    return false;
}

static void put_profiles(struct buffer *out, const struct interval *interval, uint64_t rate_hz)
{
    for (size_t id = 0; id < modules_count(); id++) {
        const struct module *module = modules_get(id);
        for (uint32_t library = 0; module->app && library < 2; library++) {
            if (!has_part(interval, module, library))
                continue;
            enum image_kind kind = library ? IMAGE_LIBRARY : IMAGE_PROFILE;
            size_t start = stream_begin_image(out, kind, module->id, interval->number);
            stream_profile(out, interval, module, rate_hz, library ? PART_LIBRARY : PART_OWN);
            stream_end_image(out, start);
        }
    }
}

static void put_modules(struct buffer *out, uint32_t number, size_t first)
{
    if (first == modules_count())
        return;
    size_t start = stream_begin_image(out, IMAGE_MODULES, 0, number);
    for (size_t id = first; id < modules_count(); id++) {
        buffer_u8(out, id == first ? '[' : ',');
        modules_json(out, id);
    }
    buffer_u8(out, ']');
    stream_end_image(out, start);
}

static void put_nodes(struct buffer *out, const struct interval *interval)
{
    size_t count = interval->paths.count;
    if (interval->paths_written == count)
        return;
    size_t start = stream_begin_image(out, IMAGE_NODES, 0, interval->number);
    uint64_t before = 0;
    /* The number of the first one, so that readers can number the following nodes after a damaged image. */
    buffer_varint(out, interval->paths_written + 1);
    buffer_varint(out, count - interval->paths_written);
    for (size_t i = interval->paths_written; i < count; i++) {
        const struct path_node *node = table_record(&interval->paths, i);
        buffer_varint(out, i + 1 - node->parent);
        buffer_varint(out, node->module);
        buffer_zigzag(out, (int64_t)(node->address - before));
        before = node->address;
    }
    stream_end_image(out, start);
}

static void put_samples(struct buffer *out, struct interval *interval)
{
    if (interval->sample_count == 0)
        return;
    interval_sort(interval);
    size_t start = stream_begin_image(out, IMAGE_SAMPLES, 0, interval->number);
    uint64_t previous_us = 0;
    for (size_t i = 0; i < interval->sample_count; i++) {
        const struct interval_sample *sample = &interval->samples[i];
        /* A sample taken while the last interval was being closed counts from the start of this one. */
        uint64_t since_start = sample->time_ns > interval->start_ns ? sample->time_ns - interval->start_ns : 0;
        uint64_t now_us = since_start / 1000;
        bool heavy = sample->weight != 1;
        buffer_varint(out, now_us - previous_us);
        buffer_varint(out, sample->thread);
        buffer_varint(out, (uint64_t)sample->node * 8 + (uint64_t)sample->kind * 2 + heavy);
        if (sample->kind == KIND_LIBRARY)
            buffer_varint(out, sample->library);
        if (heavy)
            buffer_varint(out, sample->weight);
        previous_us = now_us;
    }
    stream_end_image(out, start);
}

static void put_io(struct buffer *out, const struct interval *interval)
{
    if (interval->io.length == 0 || interval->io.failed)
        return;
    size_t start = stream_begin_image(out, IMAGE_IO, 0, interval->number);
    buffer_bytes(out, interval->io.data, interval->io.length);
    stream_end_image(out, start);
}

void stream_interval(struct buffer *out, struct interval *interval, const struct interval_record *record,
                     uint64_t rate_hz, size_t first_module)
{
    put_modules(out, interval->number, first_module);
    put_nodes(out, interval);
    put_profiles(out, interval, rate_hz);
    put_samples(out, interval);
    put_io(out, interval);
    if (!interval->images.failed)
        buffer_bytes(out, interval->images.data, interval->images.length);
    size_t start = stream_begin_image(out, IMAGE_INTERVAL, 0, interval->number);
    buffer_bytes(out, record, sizeof *record);
    stream_end_image(out, start);
}

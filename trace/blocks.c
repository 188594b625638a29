/* Thread safety: only the writing thread; blocks_forget runs in a forked child, which has none. */
#define _GNU_SOURCE
#include "session.h"

#include "buffer.h"
#include "coding.h"
#include "lane.h"
#include "launch.h"
#include "log.h"
#include "output.h"
#include "sys.h"

enum block { BLOCK_METADATA = 1, BLOCK_EVENTS, BLOCK_END, BLOCK_COUNTS };

#define MAGIC 0x0a49504du /* "MPI\n" */
#define HEADER_BYTES 20u

static struct output file = {.fd = -1};
static bool has_metadata; /* the file has its first block */
static struct buffer out;

/* Append a block header; end_block fills it in. */
static size_t begin_block(enum block kind, uint32_t lane)
{
    size_t at = out.length;
    buffer_u32(&out, MAGIC);
    buffer_u8(&out, 1);
    buffer_u8(&out, (uint8_t)kind);
    buffer_u16(&out, 0);
    buffer_u32(&out, lane);
    buffer_u64(&out, 0);
    return at;
}

static void end_block(size_t at)
{
    if (out.failed)
        return;
    uint32_t length = (uint32_t)(out.length - at - HEADER_BYTES);
    uint32_t sum = crc32(out.data + at + 4, 8) ^ crc32(out.data + at + HEADER_BYTES, length);
    __builtin_memcpy(out.data + at + 12, &length, 4);
    __builtin_memcpy(out.data + at + 16, &sum, 4);
}

static void put_counters(void)
{
    buffer_json_key(&out, "counters");
    buffer_u8(&out, '[');
    for (uint32_t i = 0; i < counters_count(); i++) {
        if (i > 0)
            buffer_u8(&out, ',');
        buffer_json_string(&out, counters_name(i));
    }
    buffer_u8(&out, ']');
    if (counters_count() == 0)
        buffer_json_text(&out, "counters_missing", counters_missing());
}

static void put_metadata(const struct launch *launch, const struct about *about)
{
    size_t at = begin_block(BLOCK_METADATA, 0);
    buffer_u8(&out, '{');
    buffer_json_text(&out, "format", "incprof-trace");
    buffer_json_u64(&out, "version", 1);
    buffer_json_text(&out, "tool", INCPROF_VERSION);
    buffer_json_text(&out, "mpi", about->mpi);
    buffer_json_bool(&out, "thread_multiple", about->shares_lanes);
    buffer_json_text(&out, "clock", "monotonic");
    buffer_json_nano(&out, "flush_s", about->interval_ns);
    buffer_json_u64(&out, "work_step_ns", CPU_CLOCK_STEP_NS);
    put_counters();
    process_json(&out, launch, about->start_ns, false);
    buffer_u8(&out, '}');
    end_block(at);
}

static void put_end(const struct about *about, const char *how)
{
    uint64_t events = 0, lost = 0, uncounted = 0, shared = 0;
    size_t at = begin_block(BLOCK_END, 0);
    for (const struct lane *lane = lane_last(); lane != NULL; lane = lane->below) {
        events += __atomic_load_n(&lane->events, __ATOMIC_RELAXED);
        lost += __atomic_load_n(&lane->lost, __ATOMIC_RELAXED);
        uncounted += __atomic_load_n(&lane->uncounted, __ATOMIC_RELAXED);
        shared += __atomic_load_n(&lane->shared, __ATOMIC_RELAXED);
    }
    buffer_u8(&out, '{');
    buffer_json_text(&out, "ended", how);
    buffer_json_u64(&out, "end_ns", monotonic_ns() - about->start_ns);
    buffer_json_u64(&out, "events", events);
    buffer_json_u64(&out, "lost", lost);
    if (counters_count() > 0) {
        buffer_json_u64(&out, "uncounted", uncounted);
        buffer_json_u64(&out, "shared", shared);
    }
    buffer_u8(&out, '}');
    end_block(at);
}

/* Append the data of a ring to the block that begins at `at`, or drop the block if there is none. */
static size_t put_ring(size_t at, const struct ring *ring)
{
    size_t taken = ring_take(ring, &out);
    if (taken > 0)
        end_block(at);
    else
        out.length = at;
    return taken;
}

static size_t put_events(const struct lane *lane)
{
    return put_ring(begin_block(BLOCK_EVENTS, lane->number), &lane->ring);
}

/* Append the available rows, from that of event number `tail / row` on. */
static size_t put_counts(const struct lane *lane)
{
    size_t at = begin_block(BLOCK_COUNTS, lane->number);
    buffer_u64(&out, lane->counts.tail / counts_row_bytes());
    return put_ring(at, &lane->counts);
}

/* Write one lane at a time. Data that could not be written stays in the ring. */
static long write_lanes(void)
{
    long error = 0;
    for (struct lane *lane = lane_last(); lane != NULL && error == 0; lane = lane->below) {
        size_t taken = put_events(lane);
        size_t counted = lane->counters != NULL ? put_counts(lane) : 0;
        if (taken + counted == 0)
            continue;
        error = output_append(&file, &out);
        if (error == 0) {
            ring_taken(&lane->ring, taken);
            ring_taken(&lane->counts, counted);
        }
        out.length = 0;
    }
    return error;
}

/* Write the first block, into a new file if there is none yet. */
static long write_metadata(const struct launch *launch, const struct about *about)
{
    long error = file.fd < 0 ? output_create_for_rank(&file, launch, ".mpi", false) : 0;
    if (error != 0)
        return error;
    put_metadata(launch, about);
    error = output_append(&file, &out);
    has_metadata = error == 0;
    out.length = 0;
    return error;
}

/* Memory may be available again at the next write: until then the data stays in the rings. */
bool blocks_write(const struct launch *launch, const struct about *about, const char *last)
{
    out.length = 0;
    out.failed = false;
    long error = has_metadata ? 0 : write_metadata(launch, about);
    if (error == 0)
        error = write_lanes();
    if (error == 0 && last != NULL) {
        put_end(about, last);
        error = output_append(&file, &out);
    }
    if (error == -ENOMEM && last == NULL)
        return true;
    if (error != 0)
        log_error("cannot write, the trace stops here", launch->directory, error);
    return error == 0;
}

void blocks_forget(void)
{
    file.fd = -1;
    has_metadata = false;
    out = (struct buffer){0};
}

/* The trace of `record --gpu-trace`: each kernel, copy and wait with its times, until a number of bytes is reached.
 * What many have in common (kernel, device, stream, launching path) is a key, to which they refer by its number in the
 * image.
 *
 * Thread safety: under gpu_lock, except where stated. Memory from mmap, which works in the interval thread. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "environment.h"
#include "gpu.h"
#include "log.h"

#define RECORD_KEYS 10
#define RECORD_TRACE 11
#define MOST_KEYS (1u << 15) /* of an image */
#define HOMES (2 * MOST_KEYS)
/* Readers take images of 64 MiB. */
#define MOST_OF_IMAGE ((size_t)32 << 20)

static bool is_on, is_full, is_reported; /* the last two are atomic */
static uint64_t bytes_left, left_out;
static struct sum_key keys[MOST_KEYS]; /* with the stream as their slot */
static uint32_t homes[HOMES];          /* 1 + number of a key; 0: free */
static uint32_t key_count;
static uint64_t first_ns, last_ns; /* starts */
static uint32_t row_count;
static struct buffer key_rows, rows;

void trace_start(void)
{
    const char *asked = environment_text("INCPROF_GPU_TRACE");
    char *end = NULL;
    bytes_left = asked != NULL ? strtoull(asked, &end, 10) : 0;
    if (asked != NULL && *end != '\0') {
        environment_complain("INCPROF_GPU_TRACE", asked, "0");
        bytes_left = 0;
    }
    is_on = bytes_left > 0;
}

bool trace_left_out(uint64_t *count)
{
    *count = left_out;
    return is_on;
}

void trace_report(void)
{
    if (__atomic_load_n(&is_full, __ATOMIC_RELAXED) && !__atomic_exchange_n(&is_reported, true, __ATOMIC_RELAXED))
        log_warn("the GPU trace ends here, because it has reached its size", "record --gpu-trace=BYTES keeps more");
}

/* Return 1 + the number of a key; 0: there are too many. */
static uint32_t number_of(const struct sum_key *key)
{
    uint32_t home = sum_key_hash(key) % HOMES;
    for (; homes[home] != 0; home = (home + 1) % HOMES)
        if (sum_key_is_same(&keys[homes[home] - 1], key))
            return homes[home];
    if (key_count == MOST_KEYS)
        return 0;
    keys[key_count++] = *key;
    homes[home] = key_count;
    buffer_varint(&key_rows, FIRST_SUM_RECORD + key->kind);
    buffer_varint(&key_rows, key->device);
    buffer_varint(&key_rows, key->slot);
    buffer_varint(&key_rows, key->what);
    buffer_varint(&key_rows, node_number(key->node));
    return key_count;
}

void trace_add(const struct device_work *work, uint32_t node)
{
    if (!is_on)
        return;
    const struct sum_key key = {
        .slot = work->stream, .what = work->what, .node = node, .device = work->device, .kind = work->kind};
    uint64_t used = key_rows.length + rows.length;
    if (used >= bytes_left)
        __atomic_store_n(&is_full, true, __ATOMIC_RELAXED);
    uint32_t number = used < bytes_left && used < MOST_OF_IMAGE ? number_of(&key) : 0;
    if (number == 0) {
        left_out++;
        return;
    }
    if (row_count++ == 0)
        first_ns = last_ns = work->start_ns;
    buffer_varint(&rows, number - 1);
    buffer_zigzag(&rows, (int64_t)(work->start_ns - last_ns));
    buffer_varint(&rows, work->end_ns - work->start_ns);
    buffer_varint(&rows, work->bytes);
    last_ns = work->start_ns;
}

void trace_put(struct buffer *out, uint64_t run_start_ns)
{
    struct buffer head = {0};
    uint64_t used = key_rows.length + rows.length;
    if (row_count == 0)
        return;
    buffer_zigzag(&head, (int64_t)(first_ns - run_start_ns));
    buffer_bytes(&head, key_rows.data, key_rows.length);
    bool is_whole = !head.failed && !key_rows.failed && !rows.failed;
    if (is_whole) {
        buffer_record(out, RECORD_KEYS, &head);
        buffer_record(out, RECORD_TRACE, &rows);
        bytes_left -= used < bytes_left ? used : bytes_left;
        key_rows.length = rows.length = 0;
    } else {
        left_out += row_count;
        buffer_free(&key_rows);
        buffer_free(&rows);
    }
    buffer_free(&head);
    row_count = key_count = 0;
    memset(homes, 0, sizeof homes);
}

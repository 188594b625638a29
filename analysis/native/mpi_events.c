/* Decoder of consecutive events of a lane of an MPI trace (trace/README.md): a hundred million per minute. */
#include "native.h"

#include <stdint.h>

struct incprof_mpi_lane {
    int64_t end_ns;
    int32_t last, shapes, bad, most;
    int64_t *gap, *duration, *key_at, *key_length;
    int32_t *follower;
    uint8_t *is_timed;
};

NATIVE_API int64_t incprof_mpi_events(struct incprof_mpi_lane *lane, const uint8_t *payload, int64_t length,
                                      int64_t *at, int64_t room, int32_t *shape, int64_t *start_ns, int64_t *end_ns,
                                      int64_t *work_ns);

enum { EXPECTED = 1, KNOWN, KNOWN_WORK, NEW_SHAPE };
enum { STEADY = 0x80, MORE = 0x7F, FINEST_BITS = 9, COARSEST_BITS = 9, MEAN_SHIFT = 3 };

/* Wide enough for every sum and shift of 64-bit numbers, so that hostile ones are detected and do not overflow. */
typedef __int128 wide;

struct cursor {
    const uint8_t *at, *end;
    int bad;
};

static uint64_t number(struct cursor *cursor)
{
    uint64_t value = 0;
    for (int shift = 0; cursor->at < cursor->end && shift <= 63; shift += 7) {
        uint8_t byte = *cursor->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
    cursor->bad = 1;
    return 0;
}

static wide zigzag(wide value)
{
    return value & 1 ? -(value >> 1) - 1 : value >> 1;
}

/* Return the number of bits of a time that are not written, from its running mean. */
static int quantum(int64_t mean)
{
    int bits = mean > 0 ? 64 - __builtin_clzll((unsigned long long)mean) - FINEST_BITS : 0;
    return bits < 0 ? 0 : bits > COARSEST_BITS ? COARSEST_BITS : bits;
}

static wide scaled(wide steps, int bits)
{
    return steps * ((wide)1 << bits);
}

static int32_t new_shape(struct incprof_mpi_lane *lane, struct cursor *cursor, const uint8_t *payload)
{
    uint64_t length = number(cursor);
    if (cursor->bad || length > (uint64_t)(cursor->end - cursor->at))
        return -1;
    int32_t made = lane->shapes++;
    lane->gap[made] = lane->duration[made] = 0;
    lane->follower[made] = -1;
    lane->is_timed[made] = 0;
    lane->key_at[made] = cursor->at - payload;
    lane->key_length[made] = (int64_t)length;
    cursor->at += length;
    return made;
}

/* Return the shape of an event, or -1 if there is none. */
static int32_t shape_of(struct incprof_mpi_lane *lane, int first, struct cursor *cursor, const uint8_t *payload)
{
    if (first >= STEADY || first == EXPECTED)
        return lane->last < 0 ? -1 : lane->follower[lane->last];
    if (first == NEW_SHAPE)
        return new_shape(lane, cursor, payload);
    uint64_t known = number(cursor);
    return cursor->bad || known >= (uint64_t)lane->shapes ? -1 : (int32_t)known;
}

static wide from_zero(wide value)
{
    return value < 0 ? 0 : value;
}

/* Decode an event's times: gap, duration and work; returns 0 if they are invalid. */
static int timed(struct incprof_mpi_lane *lane, int32_t shape, int first, struct cursor *cursor, int64_t times[3])
{
    int64_t *mean = &lane->gap[shape], *long_mean = &lane->duration[shape];
    int bits = quantum(*mean), long_bits = quantum(*long_mean);
    wide lasted = first >= STEADY ? (wide)(first - STEADY) : (wide)number(cursor);
    if (lasted == MORE && first >= STEADY)
        lasted += number(cursor);
    wide gap = from_zero(*mean + scaled(zigzag(number(cursor)), bits)), work = gap;
    wide duration = from_zero(*long_mean + scaled(zigzag(lasted), long_bits));
    wide end = lane->end_ns + gap + duration;
    if (first < STEADY && first != KNOWN) {
        work = from_zero(gap - scaled(zigzag(number(cursor)), bits));
        work = work > gap ? gap : work;
    }
    if (cursor->bad || end > INT64_MAX)
        return 0;
    times[0] = lane->end_ns + (int64_t)gap;
    times[1] = lane->end_ns = (int64_t)end;
    times[2] = (int64_t)work;
    *mean = lane->is_timed[shape] ? *mean + (((int64_t)gap - *mean) >> MEAN_SHIFT) : (int64_t)gap;
    *long_mean =
        lane->is_timed[shape] ? *long_mean + (((int64_t)duration - *long_mean) >> MEAN_SHIFT) : (int64_t)duration;
    lane->is_timed[shape] = 1;
    return 1;
}

/* Decode from `at` on, until a record that is no event, one shape too many, the end of the payload, or the end of the
 * room; `at` is advanced to there. Sets lane->bad if bytes are invalid. Returns the number of events. */
int64_t incprof_mpi_events(struct incprof_mpi_lane *lane, const uint8_t *payload, int64_t length, int64_t *at,
                           int64_t room, int32_t *shape, int64_t *start_ns, int64_t *end_ns, int64_t *work_ns)
{
    struct cursor cursor = {payload + *at, payload + length, 0};
    int64_t count = 0;
    while (count < room && cursor.at < cursor.end) {
        int first = *cursor.at;
        if (first < EXPECTED || (first > NEW_SHAPE && first < STEADY))
            break;
        /* The caller makes room, or reports that there are too many. */
        if (first == NEW_SHAPE && lane->shapes >= lane->most)
            break;
        cursor.at++;
        int64_t times[3];
        int32_t own = shape_of(lane, first, &cursor, payload);
        if (own < 0 || !timed(lane, own, first, &cursor, times)) {
            lane->bad = 1;
            break;
        }
        if (lane->last >= 0)
            lane->follower[lane->last] = own;
        lane->last = own;
        shape[count] = own;
        start_ns[count] = times[0];
        end_ns[count] = times[1];
        work_ns[count++] = times[2];
    }
    *at = cursor.at - payload;
    return count;
}

/* A lane's payload of any content: the decoder stays within it and within its room, and times never run backwards. */
#include "analysis/native/mpi_events.c"

#include <stdlib.h>
#include <string.h>

#define MOST_SHAPES 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t gap[MOST_SHAPES], duration[MOST_SHAPES], key_at[MOST_SHAPES], key_length[MOST_SHAPES];
    int32_t follower[MOST_SHAPES];
    uint8_t is_timed[MOST_SHAPES];
    struct incprof_mpi_lane lane = {
        .last = -1,
        .most = MOST_SHAPES,
        .gap = gap,
        .duration = duration,
        .key_at = key_at,
        .key_length = key_length,
        .follower = follower,
        .is_timed = is_timed,
    };
    int64_t length = (int64_t)size, room = length / 2 + 1, at = 0;
    uint8_t *payload = malloc(size + !size);
    int32_t *shape = malloc((size_t)room * sizeof *shape);
    int64_t *times = malloc((size_t)room * 3 * sizeof *times);
    memcpy(payload, data, size);
    while (at < length && !lane.bad) {
        int64_t before = at, last = lane.end_ns, *start = times, *end = times + room, *work = times + 2 * room;
        int64_t count = incprof_mpi_events(&lane, payload, length, &at, room, shape, start, end, work);
        if (count < 0 || count > room || at < before || at > length || lane.shapes > MOST_SHAPES)
            abort();
        for (int64_t i = 0; i < count; last = end[i++])
            if (start[i] < last || end[i] < start[i] || work[i] < 0 || work[i] > start[i] - last || shape[i] < 0 ||
                shape[i] >= lane.shapes)
                abort();
        for (int32_t i = 0; i < lane.shapes; i++)
            if (key_at[i] < 0 || key_length[i] < 0 || key_at[i] + key_length[i] > length)
                abort();
        /* What stopped it: another record, as which its first byte is taken here. */
        at++;
    }
    free(times);
    free(shape);
    free(payload);
    return 0;
}

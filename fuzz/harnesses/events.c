/* The detector of events: any options, any stream; its runs are those that a look at the whole stream finds. */
#include "dpd.h"
#include "drawn.h"

#define MOST_SAMPLES 512

static int64_t history[MOST_SAMPLES];
static size_t samples, resized; /* what was before is known only as far as the window reached */

static int32_t matches(int32_t lag)
{
    int32_t run = 0;
    for (size_t i = samples; i-- > (size_t)lag && history[i] == history[i - (size_t)lag];)
        run++;
    return run;
}

static void check_loops(const struct dpd *dpd, int32_t window)
{
    struct dpd_loop loops[DPD_LEVELS];
    int32_t count = dpd_loops(dpd, loops, DPD_LEVELS);
    DEMAND(count >= 0 && count <= DPD_LEVELS);
    for (int32_t i = 0; i < count; i++) {
        DEMAND(loops[i].period >= 1 && loops[i].period < window && loops[i].first <= loops[i].last);
        DEMAND(loops[i].last < samples && loops[i].whole <= loops[i].starts && loops[i].visits >= 1);
        DEMAND(i == 0 || loops[i].period < loops[i - 1].period);
    }
    DEMAND(dpd_ended(dpd, loops, DPD_LEVELS) <= DPD_LEVELS);
}

static void feed(struct dpd *dpd, struct drawn *drawn, int32_t window)
{
    int32_t period;
    uint64_t pattern = 1 + draw_below(drawn, 16), times = 1 + draw_below(drawn, 40);
    int64_t values[16], value;
    for (uint64_t i = 0; i < pattern; i++)
        values[i] = (int64_t)draw(drawn, 1) - 4;
    for (uint64_t i = 0; i < pattern * times && samples < MOST_SAMPLES; i++) {
        history[samples++] = values[i % pattern];
        int start = dpd_event(dpd, values[i % pattern], &period);
        DEMAND((start == 0 || start == 1) && period >= 0 && period < window);
    }
    for (int32_t lag = 1; lag < window && resized == 0; lag = lag < 6 ? lag + 1 : lag * 2)
        DEMAND(dpd_matches(dpd, lag) == matches(lag));
    DEMAND(dpd_predict(dpd, 1 + (int32_t)draw(drawn, 1), &value) <= DPD_PERIOD);
    check_loops(dpd, window);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct drawn drawn = {data, size};
    struct dpd_options options = {.window = (int32_t)draw(&drawn, 1) / 2,
                                  .capacity = (int32_t)draw(&drawn, 1) * 3,
                                  .rule = (int32_t)draw_below(&drawn, 3),
                                  .matches = (int32_t)draw(&drawn, 1)};
    uint64_t flags = draw(&drawn, 1);
    options.tolerance = flags & 1;
    options.memory = flags & 2 ? 512 << (flags >> 6) : (int32_t)draw_below(&drawn, 2);
    struct dpd *dpd = dpd_create(&options), *other = dpd_create(&options);
    DEMAND((dpd == NULL) == (dpd_size(&options) == 0));
    int32_t window = options.window ? options.window : 100;
    samples = resized = 0;
    while (dpd != NULL && drawn.left > 0 && samples < MOST_SAMPLES) {
        uint64_t what = draw_below(&drawn, 16);
        int32_t wanted = what == 0 ? (int32_t)draw(&drawn, 1) * 3 : 0;
        if (what == 0 && dpd_resize(dpd, wanted) == 0) {
            window = wanted;
            resized = 1;
        } else if (what == 1) {
            DEMAND(dpd_copy(other, dpd) == 0);
            struct dpd *copied = other;
            other = dpd;
            dpd = copied;
        }
        feed(dpd, &drawn, window);
        DEMAND(dpd_count(dpd) == samples);
    }
    dpd_destroy(dpd);
    dpd_destroy(other);
    return 0;
}

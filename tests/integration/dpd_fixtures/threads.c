/* Detectors in threads, in memory of their own. Each must find what it finds alone; prints what that is. */
#include <dpd.h>
#include <dpd_values.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 10 };

struct work {
    struct dpd *events;
    struct dpd_values *values;
    int period;
    long loops, starts, value_starts;
};

static void round_of(struct work *work)
{
    struct dpd_loop ended[DPD_LEVELS];
    int32_t period;
    int64_t expected;
    for (int i = 0; i < 50 * work->period; i++) {
        work->starts += dpd_event(work->events, i % work->period, &period);
        work->loops += dpd_ended(work->events, ended, DPD_LEVELS);
        dpd_predict(work->events, 1, &expected);
        work->value_starts += dpd_values_sample(work->values, (i % work->period) * 0.7, &period);
    }
    for (int i = 1; i <= 2; i++) { /* one odd event is none, two end the loop */
        dpd_event(work->events, -i, NULL);
        work->loops += dpd_ended(work->events, ended, DPD_LEVELS);
    }
    dpd_resize(work->events, work->period + 1);
    dpd_resize(work->events, 200);
    dpd_values_resize(work->values, 64, 0);
    dpd_values_resize(work->values, 100, 0);
}

static void *run(void *given)
{
    for (int i = 0; i < ROUNDS; i++)
        round_of(given);
    return NULL;
}

static void *block(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    memset(memory, 0xA5, bytes);
    return memory;
}

static void begin(struct work *work, int period)
{
    struct dpd_options options;
    struct dpd_values_options value_options;
    memset(&options, 0, sizeof options);
    memset(&value_options, 0, sizeof value_options);
    memset(work, 0, sizeof *work);
    options.window = 200;
    options.tolerance = 1;
    work->period = period;
    work->events = dpd_init(block(dpd_size(&options)), &options);
    work->values = dpd_values_init(block(dpd_values_size(&value_options)), &value_options);
}

static void end(struct work *work)
{
    free(work->events);
    free(work->values);
}

int main(void)
{
    static struct work together[THREADS], alone;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        begin(&together[i], 5 + 7 * i);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, &together[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        struct work *work = &together[i];
        begin(&alone, work->period);
        run(&alone);
        printf("%d %ld %ld %ld\n",
               work->loops == alone.loops && work->starts == alone.starts && work->value_starts == alone.value_starts,
               work->loops, work->starts, work->value_starts);
        end(&alone);
        end(work);
    }
    return 0;
}

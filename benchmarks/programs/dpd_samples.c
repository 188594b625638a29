/* What a sample costs a periodicity detector, beside one read of the processor's counter: batches of both in turn, in
 * one thread. Prints nanoseconds of a read and of a sample per round.
 *
 *     dpd_samples events|values loop|nest|none WINDOW ROUNDS [MEMORY]
 */
#include <dpd.h>
#include <dpd_values.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 1 << 15 };

static int64_t events[BATCH];
static double values[BATCH];
static struct dpd *event_detector;
static struct dpd_values *value_detector;
static volatile long seen;

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void read_counter(void)
{
    for (int i = 0; i < BATCH; i++)
        __asm__ volatile("" : : "r"(__builtin_ia32_rdtsc()));
}

static void feed_events(void)
{
    long sum = 0;
    int32_t period;
    for (int i = 0; i < BATCH; i++)
        sum += dpd_event(event_detector, events[i], &period) + period;
    seen += sum;
}

static void feed_values(void)
{
    long sum = 0;
    int32_t period;
    for (int i = 0; i < BATCH; i++)
        sum += dpd_values_sample(value_detector, values[i], &period) + period;
    seen += sum;
}

static double random_number(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* Addresses of regions: a loop of six, loops of 1, 24 and 269 within each other, or forty at random. */
static int64_t event(const char *stream, int i)
{
    int place = i % 269;
    if (strcmp(stream, "loop") == 0)
        place = i % 6;
    else if (strcmp(stream, "none") == 0)
        place = (int)(40 * random_number());
    else
        place = place >= 264 ? place - 200 : place % 24 < 6 ? 0 : place % 24;
    return 0x401000 + place * 0x1230;
}

/* Busy processors with a period of 44 and noise, the same within a period of 387, or noise alone. */
static double value(const char *stream, int i)
{
    double noise = random_number();
    if (strcmp(stream, "none") == 0)
        return noise;
    return i % 44 / 11 * 4 + 0.2 * noise + (strcmp(stream, "nest") == 0 && i % 387 < 100 ? i % 387 : 0);
}

static double time_batch(void (*batch)(void))
{
    double start = now_ns();
    batch();
    return (now_ns() - start) / BATCH;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    struct dpd_options options;
    struct dpd_values_options value_options;
    memset(&options, 0, sizeof options);
    memset(&value_options, 0, sizeof value_options);
    options.window = value_options.window = atoi(argv[3]);
    options.memory = argc > 5 ? atoi(argv[5]) : 0;
    event_detector = dpd_create(&options);
    value_detector = dpd_values_create(&value_options);
    if (!event_detector || !value_detector)
        return 1;
    for (int i = 0; i < BATCH; i++) {
        events[i] = event(argv[2], i);
        values[i] = value(argv[2], i);
    }
    void (*ours)(void) = strcmp(argv[1], "values") == 0 ? feed_values : feed_events;
    read_counter();
    ours();
    for (int round = atoi(argv[4]); round > 0; round--) {
        double limit = time_batch(read_counter), cost = time_batch(ours);
        printf("%.4f %.4f\n", limit, cost);
    }
    return 0;
}

/* Thread safety: the collector's, under its lock; the state is reset when there is no interval thread. */
#define _GNU_SOURCE
#include "counters.h"

#include <sys/auxv.h>
#include <sys/resource.h>

#include "sys.h"
#include "tasks.h"

enum { NOT_OPEN = -1, REFUSED = -2 };

static bool is_on; /* hardware events were requested */
/* Files of the process, opened by each interval thread: NOT_OPEN before that, REFUSED if they cannot be. */
static int status = NOT_OPEN, sizes = NOT_OPEN;
static int64_t first_peak_kb;  /* the largest resident size by getrusage at the start */
static uint64_t peak_kb;       /* the largest known so far */
static struct rusage previous; /* of the application's threads at the end of the last interval */
static struct counter_values of_threads;
static struct buffer rows; /* of the open interval */
static uint64_t row_us;    /* end of its last row, from its start on */

static uint64_t ns_of(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

void counters_begin(const struct config *config)
{
    is_on = config->counters;
    thread_events_begin(config->lack_is_reported);
    status = sizes = NOT_OPEN;
    of_threads = (struct counter_values){0};
    rows.length = row_us = 0;
    energy_close();
    SYS2(SYS_getrusage, RUSAGE_SELF, &previous);
    first_peak_kb = previous.ru_maxrss;
    peak_kb = 0;
}

void counters_take_thread(struct thread *thread)
{
    struct thread_events *events = &thread->events;
    if (!is_on)
        return;
    thread_events_take(events, &of_threads);
    if (events->tid == thread->tid && __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == THREAD_LIVE)
        return;
    thread_events_close(events);
    if (__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == THREAD_LIVE)
        thread_events_open(events, thread->tid);
    thread_events_report();
}

static void put(struct counter_values *values, enum counter counter, uint64_t value)
{
    values->value[counter] = value;
    values->present |= (uint64_t)1 << counter;
}

/* The interval thread is one of the process's threads: its part is subtracted, as far as it is one of whole numbers. */
static void take_usage(struct counter_values *values)
{
    struct rusage all, own;
    static struct rusage own_before;
    if (SYS2(SYS_getrusage, RUSAGE_THREAD, &own) != 0 || SYS2(SYS_getrusage, RUSAGE_SELF, &all) != 0)
        return;
    if (own.ru_minflt < own_before.ru_minflt || own.ru_nvcsw < own_before.ru_nvcsw)
        own_before = (struct rusage){0}; /* another interval thread */
    const struct {
        enum counter counter;
        int64_t all, own;
    } grown[] = {
        {COUNTER_MINOR_FAULTS, all.ru_minflt - previous.ru_minflt, own.ru_minflt - own_before.ru_minflt},
        {COUNTER_MAJOR_FAULTS, all.ru_majflt - previous.ru_majflt, own.ru_majflt - own_before.ru_majflt},
        {COUNTER_VOLUNTARY_SWITCHES, all.ru_nvcsw - previous.ru_nvcsw, own.ru_nvcsw - own_before.ru_nvcsw},
        {COUNTER_INVOLUNTARY_SWITCHES, all.ru_nivcsw - previous.ru_nivcsw, own.ru_nivcsw - own_before.ru_nivcsw},
        {COUNTER_USER_NS, (int64_t)(ns_of(&all.ru_utime) - ns_of(&previous.ru_utime)),
         (int64_t)(ns_of(&own.ru_utime) - ns_of(&own_before.ru_utime))},
        {COUNTER_SYSTEM_NS, (int64_t)(ns_of(&all.ru_stime) - ns_of(&previous.ru_stime)),
         (int64_t)(ns_of(&own.ru_stime) - ns_of(&own_before.ru_stime))},
    };
    for (size_t i = 0; i < sizeof grown / sizeof *grown; i++) {
        int64_t rest = grown[i].all - grown[i].own;
        put(values, grown[i].counter, rest > 0 ? (uint64_t)rest : 0);
    }
    previous = all;
    own_before = own;
}

/* Return the number behind a word at the beginning of a line, in kB; 0 if there is none. */
static uint64_t field_kb(const char *text, const char *word)
{
    const char *at = task_field(text, word);
    uint64_t number = 0;
    for (; *at == ' ' || *at == '\t'; at++)
        ;
    for (; *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    return number;
}

static long read_kept(int *file, const char *path, char *text, size_t size)
{
    if (*file == NOT_OPEN) {
        int fd = sys_open(path, O_RDONLY, 0);
        *file = fd >= 0 ? fd : REFUSED;
    }
    long got = *file >= 0 ? SYS4(SYS_pread64, *file, text, size - 1, 0) : -1;
    text[got > 0 ? got : 0] = '\0';
    return got;
}

static void close_kept(int *file)
{
    if (*file >= 0)
        sys_close(*file);
    *file = NOT_OPEN;
}

/* Return the resident bytes, the second number of /proc/self/statm; 0 if they cannot be read. */
static uint64_t resident_bytes(void)
{
    char text[128];
    uint64_t pages = 0;
    read_kept(&sizes, "/proc/self/statm", text, sizeof text);
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++)
        ;
    for (at += *at == ' '; *at >= '0' && *at <= '9'; at++)
        pages = pages * 10 + (uint64_t)(*at - '0');
    return pages * getauxval(AT_PAGESZ);
}

/* Return the largest resident size so far. Exact at the end of an interval: the kernel takes ten times as long to write
 * /proc/self/status as the rest of a row. In between, getrusage's counts once it has grown, because it includes what
 * this process was before an exec. */
static uint64_t peak_bytes(bool is_end)
{
    char text[4096];
    if (is_end && read_kept(&status, "/proc/self/status", text, sizeof text) > 0)
        peak_kb = field_kb(text, "VmHWM:");
    else if (previous.ru_maxrss > first_peak_kb)
        peak_kb = (uint64_t)previous.ru_maxrss;
    return peak_kb * 1024;
}

static void take_memory(struct counter_values *values, bool is_end)
{
    uint64_t resident = resident_bytes(), peak = peak_bytes(is_end);
    if (resident == 0)
        return;
    put(values, COUNTER_RESIDENT, resident);
    if (peak < resident)
        peak_kb = resident / 1024;
    put(values, COUNTER_PEAK, peak > resident ? peak : resident);
}

static void put_row(uint64_t since_ns, uint64_t now_ns, bool is_end)
{
    struct counter_values values = of_threads;
    of_threads = (struct counter_values){0};
    take_usage(&values);
    take_memory(&values, is_end);
    uint64_t uj;
    if (energy_take(&uj))
        put(&values, COUNTER_ENERGY, uj);
    uint64_t now_us = (now_ns - since_ns) / 1000;
    buffer_varint(&rows, now_us - row_us);
    buffer_varint(&rows, values.present);
    for (int i = 0; i < COUNTER_NUMBERS; i++)
        if (values.present >> i & 1)
            buffer_varint(&rows, values.value[i]);
    row_us = now_us;
}

void counters_row(uint64_t since_ns, uint64_t now_ns)
{
    put_row(since_ns, now_ns, false);
}

void counters_put(struct buffer *out, uint64_t since_ns, uint64_t now_ns)
{
    put_row(since_ns, now_ns > since_ns ? now_ns : since_ns, true);
    if (rows.failed)
        out->failed = true;
    else
        buffer_bytes(out, rows.data, rows.length);
    rows.length = row_us = 0;
    rows.failed = false;
}

void counters_park(void)
{
    close_kept(&status);
    close_kept(&sizes);
    energy_close();
    for (struct thread *thread = thread_first(); is_on && thread != NULL; thread = thread->next) {
        thread_events_take(&thread->events, &of_threads);
        thread_events_close(&thread->events);
    }
}

/* Thread safety: only the interval thread uses the state, under the collector's lock (collection.h), so that a fork
 * finds it consistent. (A child whose parent waited for the lock in vain discards it in any case.) collection_begin and
 * collection_forget run when there is no such thread. */
#define _GNU_SOURCE
#include "collection.h"

#include "account.h"
#include "closing_line.h"
#include "counters.h"
#include "extensions.h"
#include "interval.h"
#include "module_scan.h"
#include "modules.h"
#include "procio.h"
#include "recording.h"
#include "sampler.h"
#include "stream.h"
#include "switch.h"
#include "sys.h"
#include "thread_life.h"
#include "ticker.h"
#include "waits.h"
#include "worker.h"

#define ROWS 500 /* no row is longer than this part of the run so far */

static struct interval interval;
static struct recording recording;
static const struct config *config;
static struct launch *launch;
static uint64_t run_start_ns, start_cpu_ns, last_cpu_ns, last_collector_ns;
static bool is_paused; /* moncontrol(0) */
static uint64_t last_row_ns;
static uint64_t suspended_ns; /* between the last interval and the open one */
static struct cost {
    uint64_t ticks; /* in the profiler's code: its wrappers, and events, whose time is measured */
    uint64_t event_ns, handler_ns;
} cost; /* in the intervals before the open one */

void collection_begin(const struct config *configured, struct launch *launched, bool forked, enum opening opening)
{
    config = configured;
    launch = launched;
    run_start_ns = monotonic_ns();
    last_cpu_ns = start_cpu_ns = sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    last_collector_ns = suspended_ns = 0;
    last_row_ns = run_start_ns;
    suspension_slept_ns();
    account_begin(config);
    cost = (struct cost){.ticks = 0};
    counters_begin(config);
    module_scan_begin();
    recording_begin(&recording, config, launch, run_start_ns, forked, opening);
    interval_begin(&interval, run_start_ns, false);
    waits_begin(config);
    if (config->format == FORMAT_STREAM)
        procio_begin(forked);
    extensions_begin(forked, config->format == FORMAT_STREAM);
}

uint64_t collection_start_ns(void)
{
    return run_start_ns;
}

void collection_resume(void)
{
    if (recording.open)
        recording_resume(&recording);
}

void collection_open_early(bool is_start)
{
    bool is_time = recording.opening == OPEN_AT_ONCE || (recording.opening == OPEN_SOON && !is_start);
    if (is_time && !recording.open && !recording_open_early(&recording, &interval))
        thread_stop_all();
}

void collection_scan(void)
{
    module_scan_if_wanted();
    recording_keep_symbols(&recording, &interval);
}

static void take_samples_of(struct thread *thread, uint64_t now_ns)
{
    interval.thread_ns += thread_life_ns(thread, now_ns);
    interval_take_thread(&interval, thread);
    counters_take_thread(thread);
}

/* Return the CPU time in wrappers so far, estimated from the ticks there. Counting calls cannot be thinned: it is no
 * part of the account. */
static uint64_t wrappers_ns(void)
{
    uint64_t ticks_ns = (cost.ticks + interval.profiler_ticks) * (1000000000u / config->rate_hz);
    uint64_t event_ns = cost.event_ns + interval.totals.event_ns;
    return ticks_ns > event_ns && !modules_have_counts() ? ticks_ns - event_ns : 0;
}

/* Note counters and totals within the interval. Rows grow with the run, so that a run of any length has a few thousand
 * of them, and a phase of a hundredth has some of its own. */
static void note_row(uint64_t now_ns)
{
    if (config->format != FORMAT_STREAM || now_ns <= interval.start_ns ||
        (now_ns - last_row_ns) * ROWS < now_ns - run_start_ns)
        return;
    last_row_ns = now_ns;
    counters_row(interval.start_ns, now_ns);
    procio_put(&interval.io, thread_count() > interval.threads, now_ns - run_start_ns, false);
}

void collection_drain(void)
{
    uint64_t now_ns = monotonic_ns();
    collection_scan();
    ticker_assign();
    ticker_report_trouble();
    interval.threads = 0;
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next) {
        interval.threads += __atomic_load_n(&thread->state, __ATOMIC_RELAXED) == THREAD_LIVE;
        if (!thread_is_settled(thread))
            take_samples_of(thread, now_ns);
    }
    account_set_wrappers(wrappers_ns());
    account_set_worker(worker_cpu_ns());
    account_update();
    note_row(now_ns);
}

/* Take a thread's calls; discard those made while moncontrol(3) had turned counting off. */
static void take_calls_of(struct thread *thread)
{
    if (is_paused)
        arcs_forget(&thread->table);
    else
        interval_take_calls(&interval, thread);
}

static void take_calls(void)
{
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        if (!thread_is_settled(thread))
            take_calls_of(thread);
}

static void take_thread(struct thread *thread)
{
    take_samples_of(thread, monotonic_ns());
    take_calls_of(thread);
}

/* Scan for code loaded by dlopen if it made calls; they appear before its first sample. */
static void look_up_new_calls(void)
{
    if (!interval_has_new_calls(&interval))
        return;
    module_scan_request();
    module_scan_if_wanted();
    interval_look_up_calls(&interval);
}

/* Resolve all pending addresses against a freshly read memory map. */
void collection_look_up(void)
{
    if (module_scan_is_wanted())
        module_scan_now();
    take_calls();
    collection_drain();
    if (interval_has_new_calls(&interval)) {
        module_scan_now();
        interval_look_up_calls(&interval);
    }
    recording_keep_symbols(&recording, &interval);
}

/* Resolve the data so far by the map that was valid then. */
void collection_remap(void)
{
    take_calls();
    collection_drain();
    module_scan_after_unload();
    interval_look_up_calls(&interval);
    recording_keep_symbols(&recording, &interval);
}

/* Claim the run directory, if a recording with OPEN_LATE has not done so yet. False after one line on stderr. */
static bool has_place(void)
{
    bool is_needed = launch->directory[0] == '\0' && !interval_is_empty(&interval);
    return !is_needed || launch_claim_directory(launch, config->directory, "gmon");
}

static void put_counters(uint64_t end_ns)
{
    if (config->format != FORMAT_STREAM)
        return;
    size_t start = stream_begin_image(&interval.images, IMAGE_COUNTERS, 0, interval.number);
    counters_put(&interval.images, interval.start_ns, end_ns);
    stream_end_image(&interval.images, start);
}

/* Close the interval at `end_ns`; its data has been taken. The next interval begins at `next_ns`. */
static void close_interval(uint64_t end_ns, uint64_t next_ns, bool is_last)
{
    look_up_new_calls();
    if (config->format == FORMAT_STREAM)
        procio_put(&interval.io, thread_count() > interval.threads, end_ns - run_start_ns, is_last);
    uint64_t cpu_ns = sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t collector_ns = worker_cpu_ns();
    const struct interval_record record = {
        .start_ns = interval.start_ns - run_start_ns,
        .end_ns = end_ns - run_start_ns,
        .cpu_ns = cpu_ns - last_cpu_ns,
        .thread_ns = interval.thread_ns,
        .collector_ns = collector_ns > last_collector_ns ? collector_ns - last_collector_ns : 0,
        .handler_ns = interval.totals.handler_ns,
        .samples = interval.totals.samples,
        .ticks = interval.totals.ticks,
        .profiler_ticks = interval.profiler_ticks,
        .lost = interval.totals.lost,
        .broken = interval.totals.broken,
        .threads = interval.threads,
        .skipped = interval.totals.skipped,
        .shortened = interval.shortened,
        .dropped = recording.dropped,
        .suspended = suspended_ns + suspension_slept_ns(),
        .event_ns = interval.totals.event_ns,
        .delayed_ns = waits_delayed_ns(),
    };
    cost.ticks += interval.profiler_ticks;
    cost.event_ns += interval.totals.event_ns;
    cost.handler_ns += interval.totals.handler_ns;
    waits_put(&interval);
    if (config->format == FORMAT_STREAM && recording_takes(&recording, &interval))
        extensions_put(&interval, run_start_ns, end_ns, is_last);
    put_counters(end_ns);
    last_row_ns = end_ns;
    if (!has_place() || !recording_interval(&recording, &interval, &record))
        thread_stop_all();
    interval.number += recording.open;
    interval_begin(&interval, next_ns, config->format == FORMAT_GMON);
    last_cpu_ns = cpu_ns;
    last_collector_ns = collector_ns;
    suspended_ns = next_ns - end_ns;
    thread_settle(take_thread);
}

static void close_now(bool is_last)
{
    take_calls();
    collection_drain();
    uint64_t now_ns = monotonic_ns();
    close_interval(now_ns, now_ns, is_last);
}

void collection_close_interval(void)
{
    close_now(false);
}

/* Return whether samples in between show that the process has run, and only this thread was late. */
static bool has_run(uint64_t from_ns, uint64_t until_ns)
{
    const uint64_t edge_ns = 20000000; /* two ticks: one that was due, one on the way up */
    for (size_t i = 0; i < interval.sample_count; i++)
        if (interval.samples[i].time_ns > from_ns + edge_ns && interval.samples[i].time_ns + edge_ns < until_ns)
            return true;
    return false;
}

bool collection_exclude(uint64_t from_ns, uint64_t until_ns)
{
    take_calls();
    collection_drain();
    if (from_ns <= interval.start_ns || has_run(from_ns, until_ns))
        return false;
    interval.thread_ns -= thread_life_exclude(from_ns, until_ns - from_ns);
    close_interval(from_ns, until_ns, false);
    waits_exclude();
    return true;
}

void collection_sample_waits(bool is_alone)
{
    waits_sample(&interval, is_alone);
}

void collection_close(void)
{
    waits_finish(&interval);
    if (config->gpu)
        module_scan_now();
    close_now(true);
    if (config->gpu)
        recording.gpu = gpu_use_of_process(extensions_have_put(IMAGE_DEVICE));
    recording_end(&recording, &interval, monotonic_ns() - run_start_ns);
}

/* Return the CPU time that the recording has taken, for its closing line: of more than a plain recording. */
static uint64_t own_ns(void)
{
    if (!extensions_exist())
        return 0;
    return cost.handler_ns + last_collector_ns + wrappers_ns();
}

void collection_report(void)
{
    if (!recording.broken && !recording.forked)
        closing_line_write(&(struct closing){recording.intervals, start_cpu_ns, last_cpu_ns, own_ns(), recording.gpu});
}

void collection_report_late(void)
{
    last_cpu_ns = sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    collection_report();
}

bool collection_is_blank(void)
{
    return recording.opening != OPEN_AT_ONCE && !recording.open && interval.totals.samples == 0;
}

void collection_pause(bool paused)
{
    collection_drain();
    take_calls();
    is_paused = paused;
    switch_pause(paused);
}

void collection_park(void)
{
    collection_drain();
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        ticker_park(thread);
    dense_window_park();
    waits_park();
    counters_park();
    recording_park(&recording);
    procio_park();
}

int collection_file(void)
{
    return recording.open && !recording.broken ? recording.file.fd : -1;
}

void collection_set_file(int fd)
{
    recording.file.fd = fd;
}

void collection_forget(void)
{
    interval_free(&interval);
}

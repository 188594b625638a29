#define _GNU_SOURCE
#include "follow.h"

#include "proc.h"
#include "stream.h"
#include "sys.h"

#define NANO 1000000000u

static uint64_t assigned_own_ns; /* CPU time of this process already assigned to an interval */

bool followed_runs_python(const struct followed *process)
{
    return process->is_recorded && process->python_codes != NULL;
}

bool python_record(struct python_thread *mine, const uint64_t *words, size_t count)
{
    python_add_code(mine, words, count);
    return true;
}

struct followed *followed_new(pid_t pid, const struct config *config, const struct launch *launch)
{
    struct followed *process = sys_alloc(sizeof *process);
    if (process == NULL)
        return NULL;
    process->pid = process->code.pid = pid;
    process->config = config;
    process->launch = *launch;
    process->launch.pid = pid;
    modules_use(&process->code);
    modules_begin(true, true);
    return process;
}

void followed_fork(struct followed *child, const struct followed *parent)
{
    mappings_copy(&child->maps, &parent->maps);
    child->maps_changed = true;
    child->code.entry = parent->code.entry;
    child->awaits_program = parent->awaits_program;
    child->sees_kernel = parent->sees_kernel;
    child->launch = parent->launch;
    child->launch.pid = child->pid;
    __builtin_memcpy(child->name, parent->name, sizeof child->name);
}

void followed_begin(struct followed *process, uint64_t now_ns, bool is_forked, enum opening opening)
{
    process->is_recorded = true;
    process->cpu_ns = process->ticks = process->unsampled = process->missing = process->ended = 0;
    process->stopped_ns = process->suspended_ns = 0;
    process->lived_ns = now_ns;
    process->grid_ns = now_ns + process->config->interval_ns;
    recording_begin(&process->recording, process->config, &process->launch, now_ns, is_forked, opening);
    interval_begin(&process->interval, now_ns, false);
    wait_spans_begin(&process->waits);
}

static void count_life(struct followed *process, uint64_t now_ns)
{
    if (now_ns > process->lived_ns) {
        process->interval.thread_ns += process->threads * (now_ns - process->lived_ns);
        process->lived_ns = now_ns;
    }
}

void followed_begin_thread(struct followed *process, uint64_t now_ns)
{
    count_life(process, now_ns);
    process->threads++;
    process->ended_ns = 0;
}

void followed_end_thread(struct followed *process, uint64_t now_ns, uint32_t number)
{
    count_life(process, now_ns);
    if (process->threads == 0)
        return;
    process->threads--;
    process->ended++;
    process->last_ended = number;
    process->ended_ns = process->threads == 0 ? now_ns : 0;
}

/* Return the weight of a sample. If ticks in kernel mode are missing, the samples of an interval represent the missing
 * ones of the previous interval. */
static uint32_t weight_of(struct followed *process)
{
    uint64_t usual = process->usual > 0 ? process->usual : 1;
    uint64_t more = (process->missing + usual - 1) / usual;
    process->missing -= more;
    return 1 + (uint32_t)more;
}

void followed_take(struct followed *process, const struct perf_event_header *record, uint32_t thread)
{
    struct sample sample;
    followed_use(process);
    if (!sample_read(&sample, record, &process->cache, process->python_codes))
        process->interval.totals.broken++;
    sample.thread = thread;
    sample.weight = weight_of(process);
    const uint16_t *functions = process->python_codes != NULL ? process->python_codes->functions : NULL;
    interval_add_sample(&process->interval, functions, &sample);
}

void followed_poll(struct followed *process)
{
    followed_use(process);
    if (!process->recording.open && process->recording.opening != OPEN_LATE &&
        !recording_open_early(&process->recording, &process->interval))
        process->is_recorded = false;
    recording_keep_symbols(&process->recording, &process->interval);
}

/* Return the CPU time since the last interval. For an ended process the kernel reports none. */
static uint64_t cpu_since_last(struct followed *process, uint64_t period_ns)
{
    uint64_t now = target_cpu_ns(process->pid);
    uint64_t by_samples = process->interval.totals.ticks * period_ns;
    uint64_t took = now > process->last_cpu_ns ? now - process->last_cpu_ns : 0;
    process->last_cpu_ns = now > 0 ? now : process->last_cpu_ns + by_samples;
    return now > 0 ? took : by_samples;
}

/* Return this process's own CPU time since the last report: a part of the cost, but not of any followed process's
 * time. */
static uint64_t own_cpu_ns(void)
{
    uint64_t now = sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t more = now - assigned_own_ns;
    assigned_own_ns = now;
    return more;
}

/* Add the CPU time that has no ticks because threads ended before their next one, as a sample without a path. Each
 * thread, also one that lives, lacks one tick at most. It may be another thread's time: the kernel swaps the events of
 * threads that it switches between. */
static void add_ended(struct followed *process, uint64_t now_ns, uint64_t period_ns)
{
    struct interval *interval = &process->interval;
    uint64_t lost = process->recording.lost + interval->totals.lost;
    uint64_t found = process->ticks + interval->totals.ticks + lost + process->threads;
    uint64_t due = process->cpu_ns / period_ns;
    uint64_t missing = due > found ? due - found : 0;
    const struct sample sample = {
        .time_ns = now_ns - 1,
        .thread = process->last_ended,
        .weight = (uint32_t)(missing < process->ended ? missing : process->ended),
        .kind = KIND_UNKNOWN,
    };
    if (sample.weight > 0)
        interval_add_sample(interval, NULL, &sample);
    process->unsampled += sample.weight;
    process->ended = 0;
}

static void keep_to_grid(struct followed *process, uint64_t now_ns)
{
    while (process->grid_ns <= now_ns)
        process->grid_ns += process->config->interval_ns;
}

/* Close the open interval at `now_ns`; the next one begins at `next_ns`. */
static void close_interval(struct followed *process, uint64_t now_ns, uint64_t next_ns)
{
    struct interval *interval = &process->interval;
    uint64_t period_ns = NANO / process->config->rate_hz;
    followed_use(process);
    count_life(process, now_ns);
    uint64_t cpu_ns = cpu_since_last(process, period_ns);
    uint64_t own_ns = own_cpu_ns();
    process->cpu_ns += cpu_ns;
    add_ended(process, now_ns, period_ns);
    uint64_t ticks = interval->totals.ticks;
    process->ticks += ticks;
    uint64_t due = process->sees_kernel ? 0 : process->cpu_ns / period_ns;
    process->missing = due > process->ticks ? due - process->ticks : 0;
    process->usual = interval->totals.samples;
    const struct interval_record record = {
        .start_ns = interval->start_ns - process->recording.start_ns,
        .end_ns = now_ns - process->recording.start_ns,
        .cpu_ns = cpu_ns + own_ns,
        .thread_ns = interval->thread_ns,
        .collector_ns = own_ns,
        .samples = interval->totals.samples,
        .ticks = ticks,
        .lost = interval->totals.lost,
        .broken = interval->totals.broken,
        .threads = process->threads,
        .shortened = interval->shortened,
        .suspended = process->suspended_ns,
        .delayed_ns = process->waits.delayed_ns,
    };
    waiters_put(process);
    process->is_recorded = recording_interval(&process->recording, interval, &record);
    interval->number += process->recording.open;
    interval_begin(interval, next_ns, process->config->format == FORMAT_GMON);
    process->suspended_ns = next_ns - now_ns;
    process->lived_ns = next_ns;
    recording_keep_symbols(&process->recording, &process->interval);
    keep_to_grid(process, next_ns);
}

void followed_close_interval(struct followed *process, uint64_t now_ns)
{
    close_interval(process, now_ns, now_ns);
}

bool followed_is_idle(struct followed *process, uint64_t now_ns)
{
    uint64_t since_ns = process->stopped_ns;
    bool stands = target_is_stopped(process->pid);
    process->stopped_ns = !stands ? 0 : since_ns != 0 ? since_ns : now_ns;
    if (stands || since_ns != 0)
        waiters_exclude(process);
    if (stands)
        keep_to_grid(process, now_ns);
    else if (since_ns > process->interval.start_ns)
        close_interval(process, since_ns, now_ns);
    return stands;
}

void followed_end(struct followed *process, uint64_t now_ns)
{
    followed_use_code(process);
    const struct interval *interval = &process->interval;
    if (process->is_recorded && process->stopped_ns == 0)
        waiters_finish(process);
    if (process->stopped_ns != 0)
        now_ns = process->stopped_ns;
    if (now_ns <= interval->start_ns) /* it was detected after another interval had begun */
        now_ns = interval->start_ns + (interval->totals.samples > 0);
    if (process->is_recorded && now_ns > interval->start_ns)
        followed_close_interval(process, now_ns);
    waiters_forget(process);
    if (process->is_recorded)
        recording_end(&process->recording, &process->interval, now_ns - process->recording.start_ns);
    process->is_recorded = false;
    interval_free(&process->interval);
    wait_spans_free(&process->waits);
    buffer_free(&process->recording.data);
    process->recording.data = (struct buffer){.length = 0};
    if (process->recording.open && process->recording.file.fd >= 0)
        sys_close(process->recording.file.fd);
    process->recording.open = false;
}

/* Forget Python, except the data for the closing line. */
static void forget_python(struct followed *process)
{
    struct python_process *python = &process->python;
    python_use(NULL);
    if (python->unknown_version != 0)
        python_used()->unknown_version = python->unknown_version;
    python_used()->is_unreadable |= python->is_unreadable;
    python_used()->has_too_many |= python->has_too_many;
    table_free(&python->functions);
    *python = (struct python_process){.published = NULL};
    if (process->python_codes != NULL)
        sys_free(process->python_codes, sizeof *process->python_codes);
    process->python_codes = NULL;
    python_use(python);
}

void followed_forget_code(struct followed *process)
{
    modules_free(&process->code);
    forget_python(process);
    process->code.pid = process->pid;
    memset(&process->cache, 0, sizeof process->cache);
    mappings_forget(&process->maps);
    modules_use(&process->code);
    modules_begin(true, true);
}

void followed_free(struct followed *process)
{
    forget_python(process);
    followed_use_code(NULL);
    modules_free(&process->code);
    buffer_free(&process->maps.text);
    sys_free(process, sizeof *process);
}

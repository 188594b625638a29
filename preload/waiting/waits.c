/* Thread safety: all state, and the `waits` of the threads' records, belong to the interval thread, under the
 * collector's lock; waits_begin runs when there is no such thread. */
#define _GNU_SOURCE
#include "waits.h"

#include <string.h>

#include "account.h"
#include "blocked_thread.h"
#include "stream.h"
#include "switch.h"
#include "sys.h"
#include "thread.h"

#define NEVER_NS (UINT64_MAX / 4)
/* The budget: parts in a thousand of one processor, and what may be saved up. */
#define BUDGET 3
#define MOST_CREDIT_NS 4000000
/* The cost of waking up, until it has been measured. */
#define WAKING_NS 20000
/* A thread's last account, at the end of the recording, is set aside from the budget. */
#define CLOSING_NS 4000
#define BETWEEN_CLOCKS 8 /* threads between two readings of the own CPU clock */
/* While threads wait for short times, samples are this many times as frequent; for so long at least, because a rate
 * that depends on what threads do right now would find some waits too often. */
#define FASTER 10
#define FAST_NS 1000000000u
#define SHARE_OF_SHORT 8 /* part of a span from which they do */
/* If no thread has begun or ended a wait of this part of a span for so long, samples are rarer by this factor. */
#define SHARE_OF_ANY 64
#define CALM_NS 1000000000u
#define RARER 3
/* Spans that only estimate are joined up to this length: phases may begin in between. */
#define LONGEST_SPAN_NS 250000000u

/* A thread that stays in one wait takes no sample for this part of the wait so far, and this time at most. Its times
 * remain exact; only the end of the wait is found later. */
#define PART_WITHOUT 16
#define MOST_WITHOUT_NS 250000000u

enum wait_state { STATE_NOT_BLOCKED, STATE_BLOCKED, STATE_ONE_WAIT };

static uint64_t gap_ns; /* mean; 0: off */
static uint64_t due_ns, last_ns, fast_until_ns, calm_since_ns, cost_ns;
static int64_t credit_ns;
static uint64_t reserve_ns; /* set aside for the end */
/* On the own CPU clock: mean cost of waking up for samples, and when the last turn of the interval thread ended. */
static uint64_t waking_ns, turn_ended_ns;
static uint64_t live_count; /* of threads, at the last samples */
static uint64_t random_state;
static bool has_begun, is_refused;
static struct thread *resume; /* the thread at which the budget was spent */
static struct table sites;    /* struct wait_site; of the open interval */
static struct buffer spans;
static uint64_t previous_us;                   /* the beginning of the last span written */
static uint64_t sampled, thinned, consumed_ns; /* in the open interval */

void waits_begin(const struct config *config)
{
    gap_ns = config->waits_hz > 0 && config->format == FORMAT_STREAM ? 1000000000u / config->waits_hz : 0;
    due_ns = gap_ns > 0 ? 0 : NEVER_NS;
    last_ns = calm_since_ns = monotonic_ns();
    credit_ns = 0;
    reserve_ns = live_count = turn_ended_ns = 0;
    waking_ns = WAKING_NS;
    random_state = last_ns | 1;
    has_begun = is_refused = false;
    resume = NULL;
    sites.record_size = sites.key_size = sizeof(struct wait_site);
    table_clear(&sites);
    spans.length = 0;
    previous_us = sampled = thinned = consumed_ns = fast_until_ns = cost_ns = 0;
    task_forget();
    wait_path_begin();
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        thread->waits = (struct thread_waits){0};
}

uint64_t waits_due_ns(void)
{
    return due_ns;
}

/* Draw a time between half and one and a half times the mean: no program is in step with it. */
static uint64_t jittered_ns(uint64_t mean_ns)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return mean_ns / 2 + random_state % (mean_ns + 1);
}

static uint64_t own_cpu_ns(void)
{
    return sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Write the thread's span to the interval's. */
static void put_span(const struct interval *interval, const struct thread_waits *waits)
{
    const struct wait_span *span = &waits->span;
    uint64_t begin_us = span->begin_ns / 1000;
    if (span->count == 0)
        return;
    if (spans.length == 0)
        previous_us = interval->start_ns / 1000;
    buffer_zigzag(&spans, (int64_t)(begin_us - previous_us));
    previous_us = begin_us;
    buffer_varint(&spans, span->end_ns / 1000 - begin_us);
    buffer_varint(&spans, waits->owner - 1);
    buffer_varint(&spans, span->waited_ns / 1000);
    buffer_varint(&spans, span->delayed_ns / 1000);
    buffer_varint(&spans, (uint64_t)span->count * 4 + span->state);
    bool is_blocked = span->state != STATE_NOT_BLOCKED;
    const uint8_t *record = is_blocked ? table_add(&sites, &span->site, NULL) : NULL;
    uint64_t site = record != NULL ? (uint64_t)(record - sites.records) / sizeof(struct wait_site) + 1 : 0;
    buffer_varint(&spans, site);
    buffer_varint(&spans, span->call);
    buffer_varint(&spans, span->object);
    buffer_varint(&spans, span->holder);
}

static bool is_same(const struct wait_span *one, const struct wait_span *other)
{
    return one->state == other->state && one->call == other->call && one->object == other->object &&
           one->holder == other->holder && memcmp(&one->site, &other->site, sizeof one->site) == 0;
}

/* Add a span to the thread's, or write that one and begin another. The first span after a change stays alone: it holds
 * the rest of what the thread did before. */
static void add_span(const struct interval *interval, struct thread_waits *waits, const struct wait_span *span)
{
    struct wait_span *open = &waits->span;
    bool is_short = span->state == STATE_ONE_WAIT || span->end_ns - open->begin_ns <= LONGEST_SPAN_NS;
    bool is_joined = is_same(open, span);
    bool is_open = open->count > 0 && (!open->is_first || open->state == STATE_ONE_WAIT);
    if (is_open && open->end_ns == span->begin_ns && is_short && is_joined) {
        open->end_ns = span->end_ns;
        open->waited_ns += span->waited_ns;
        open->delayed_ns += span->delayed_ns;
        open->count += span->count;
        return;
    }
    put_span(interval, waits);
    *open = *span;
    open->is_first = !is_joined;
}

/* Read the call path and the lock's holder of a thread that is blocked in `call`. Returns whether it has not run since
 * `times`. If it has, its stack may be another one by now; then only a complete path counts. */
static bool describe(struct thread *thread, const struct task_call *call, const struct task_times *times,
                     struct wait_path *path, bool *has_path, uint32_t *holder)
{
    struct task_times after;
    if (call->sp != 0)
        wait_path_walk(thread, call, path);
    *holder = wait_lock_holder(call);
    bool is_same = task_times(&thread->waits, __atomic_load_n(&thread->tid, __ATOMIC_RELAXED), &after) &&
                   after.runs == times->runs && after.cpu_ns == times->cpu_ns;
    *has_path = call->sp != 0 && (is_same || path->is_complete);
    return is_same;
}

/* Describe what a thread waits for if it is blocked. Its first system call decides, however short the wait: otherwise,
 * the shorter waits are, the more of them would be missed. If it has run before its path was read, it may be found in
 * the same call again. False: it has ended. */
static bool observe(struct interval *interval, struct thread *thread, struct task_times *times, uint64_t *now_ns,
                    struct wait_span *span)
{
    struct task_call first, call;
    struct task_times later;
    static struct wait_path path;
    bool has_path;
    pid_t tid = __atomic_load_n(&thread->tid, __ATOMIC_RELAXED);
    *now_ns = monotonic_ns();
    enum task_result result = task_call(&thread->waits, tid, &first);
    if (result == TASK_GONE || result == TASK_RUNNING)
        return result == TASK_RUNNING;
    is_refused |= result == TASK_REFUSED;
    span->object = wait_object_of(&thread->waits, tid, &first);
    if (!describe(thread, &first, times, &path, &has_path, &span->holder))
        times->runs = 0; /* the next sample is not of the same wait */
    if (!has_path && first.sp != 0 && task_times(&thread->waits, tid, &later) &&
        task_call(&thread->waits, tid, &call) == TASK_BLOCKED && call.number == first.number)
        describe(thread, &call, &later, &path, &has_path, &span->holder);
    if (has_path && path.is_ours)
        return true;
    span->state = STATE_BLOCKED;
    span->call = first.number >= 0 ? (uint32_t)first.number + 1 : 0;
    if (has_path) {
        wait_path_add(interval, &path);
        span->site = path.site;
    }
    return true;
}

/* Return the nanoseconds of the span off the processors: what is left of the wall time. The three clocks are not read
 * at the same moment, and what is too much now is subtracted later. */
static uint64_t waited_ns(struct thread_waits *waits, uint64_t wall_ns, uint64_t others_ns)
{
    uint64_t used_ns = others_ns + waits->owed_ns;
    waits->owed_ns = used_ns > wall_ns ? used_ns - wall_ns : 0;
    return wall_ns > used_ns ? wall_ns - used_ns : 0;
}

/* Begin to account for a thread: from its start on, or from now on if other code has used its clock before. */
static void begin_thread(struct thread *thread, uint64_t owner, const struct task_times *times, uint64_t now_ns)
{
    struct thread_waits *waits = &thread->waits;
    bool is_new = has_begun && waits->owner == 0;
    waits->owner = owner;
    waits->owed_ns = 0;
    waits->runs = 0;
    waits->span.count = 0;
    waits->since_ns = is_new ? __atomic_load_n(&thread->start_ns, __ATOMIC_RELAXED) : now_ns;
    waits->cpu_ns = is_new ? 0 : times->cpu_ns;
    waits->delay_ns = is_new ? 0 : times->delay_ns;
}

/* The same wait as before goes on. */
static void continue_wait(struct wait_span *span, const struct wait_span *before)
{
    span->state = STATE_ONE_WAIT;
    span->call = before->call;
    span->object = before->object;
    span->holder = before->holder;
    span->site = before->site;
}

/* Take a sample of a thread. `deep`: describe what it waits for. Returns whether it waits for short times. */
static bool sample(struct interval *interval, struct thread *thread, bool deep)
{
    struct thread_waits *waits = &thread->waits;
    struct task_times times;
    uint64_t owner = (uint64_t)__atomic_load_n(&thread->number, __ATOMIC_ACQUIRE) + 1;
    if (waits->owner != 0 && waits->owner != owner) { /* the record is another thread's now */
        put_span(interval, waits);
        task_close(waits);
        *waits = (struct thread_waits){0};
    }
    if (!task_times(waits, __atomic_load_n(&thread->tid, __ATOMIC_RELAXED), &times))
        return false;
    uint64_t now_ns = monotonic_ns();
    if (waits->since_ns == 0)
        begin_thread(thread, owner, &times, now_ns);
    sampled++;
    struct wait_span span = {.begin_ns = waits->since_ns, .count = 1};
    bool is_one_wait = waits->runs != 0 && waits->runs == times.runs && times.cpu_ns == waits->cpu_ns;
    if (is_one_wait)
        continue_wait(&span, &waits->span);
    else
        waits->same_since_ns = now_ns;
    uint64_t without_ns = (now_ns - waits->same_since_ns) / PART_WITHOUT;
    waits->due_ns = now_ns + (without_ns < MOST_WITHOUT_NS ? without_ns : MOST_WITHOUT_NS);
    if (!is_one_wait && deep && !observe(interval, thread, &times, &now_ns, &span))
        return false;
    waits->runs = span.state != STATE_NOT_BLOCKED ? times.runs : 0;
    if (now_ns <= waits->since_ns)
        return false;
    span.end_ns = now_ns;
    span.delayed_ns = times.delay_ns - waits->delay_ns;
    span.waited_ns = waited_ns(waits, now_ns - waits->since_ns, times.cpu_ns - waits->cpu_ns + span.delayed_ns);
    add_span(interval, waits, &span);
    waits->since_ns = now_ns;
    waits->cpu_ns = times.cpu_ns;
    waits->delay_ns = times.delay_ns;
    uint64_t length_ns = span.end_ns - span.begin_ns;
    if (!is_one_wait && span.waited_ns >= length_ns / SHARE_OF_ANY)
        calm_since_ns = now_ns;
    return !is_one_wait && span.waited_ns >= length_ns / SHARE_OF_SHORT;
}

/* Return whether the thread has long been in one wait, so that a sample would be of no use yet. */
static bool is_settled(const struct thread *thread, uint64_t now_ns)
{
    return thread->waits.due_ns > now_ns &&
           thread->waits.owner == (uint64_t)__atomic_load_n(&thread->number, __ATOMIC_ACQUIRE) + 1;
}

static bool is_live(const struct thread *thread)
{
    return __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == THREAD_LIVE;
}

/* Write the rest of a thread that has ended. Its last time, since the sample before, is in no span. */
static void finish_thread(const struct interval *interval, struct thread *thread)
{
    if (thread->waits.owner == 0)
        return;
    put_span(interval, &thread->waits);
    task_close(&thread->waits);
    thread->waits = (struct thread_waits){0};
}

/* Return whether the budget is spent, after `count` threads since `start_ns` on the own CPU clock. */
static bool is_budget_spent(size_t count, uint64_t start_ns)
{
    return count % BETWEEN_CLOCKS == BETWEEN_CLOCKS - 1 && (int64_t)(own_cpu_ns() - start_ns) > credit_ns;
}

/* Take samples from the thread on at which the last ones ended; return whether any thread waits for short times. */
static bool sample_all(struct interval *interval, uint64_t now_ns, uint64_t start_ns)
{
    struct thread *first = resume != NULL ? resume : thread_first();
    struct thread *thread = first;
    bool is_busy = false;
    bool has_stopped = false;
    size_t count = 0;
    live_count = 0;
    resume = NULL;
    if (thread == NULL)
        return false;
    do {
        struct thread *next = thread->next != NULL ? thread->next : thread_first();
        bool lives = is_live(thread);
        live_count += lives;
        if (!lives) {
            finish_thread(interval, thread);
        } else if (is_settled(thread, now_ns)) {
            /* no sample is due */
        } else if (has_stopped) {
            thinned++;
        } else {
            is_busy |= sample(interval, thread, true);
            has_stopped = is_budget_spent(count++, start_ns);
            resume = has_stopped ? next : NULL;
        }
        thread = next;
    } while (thread != first);
    return is_busy;
}

/* Add what the budget has earned: half of it to the reserve, until that is enough for all threads. */
static void earn(uint64_t earned_ns)
{
    uint64_t enough_ns = live_count * CLOSING_NS, aside_ns = 0;
    if (reserve_ns < enough_ns)
        aside_ns = earned_ns / 2 < enough_ns - reserve_ns ? earned_ns / 2 : enough_ns - reserve_ns;
    reserve_ns += aside_ns;
    credit_ns += (int64_t)(earned_ns - aside_ns);
    credit_ns = credit_ns < MOST_CREDIT_NS ? credit_ns : MOST_CREDIT_NS;
}

/* Take what has been used since then on the own CPU clock from the budget; return it. */
static uint64_t pay(uint64_t start_ns)
{
    uint64_t used_ns = own_cpu_ns() - start_ns;
    credit_ns -= (int64_t)used_ns;
    consumed_ns += used_ns;
    account_charge(ACCOUNT_WAITS, used_ns);
    return used_ns;
}

/* Return the mean time to the next samples, before thinning. */
static uint64_t wanted_gap_ns(uint64_t now_ns)
{
    if (now_ns < fast_until_ns)
        return gap_ns / FASTER;
    return now_ns - calm_since_ns < CALM_NS ? gap_ns : gap_ns * RARER;
}

/* Return how long it takes to earn what costs so much. */
static uint64_t time_to_earn_ns(uint64_t cost, uint64_t thinning)
{
    return cost * 1000 / BUDGET * thinning / ACCOUNT_ALL;
}

/* Return the cost of waking up, which a busy machine makes several times as large: of this turn if it is for samples
 * alone, else the mean. */
static uint64_t waking_cost_ns(uint64_t start_ns, bool is_alone)
{
    if (!is_alone || turn_ended_ns == 0)
        return waking_ns;
    uint64_t cost = start_ns - turn_ended_ns;
    waking_ns = (waking_ns * 7 + cost) / 8;
    return cost;
}

/* Take samples at `now_ns`, and choose the time of the next ones. */
static void take_turn(struct interval *interval, uint64_t now_ns, bool is_alone)
{
    if (!switch_is_sampling() || !modules_are_known()) {
        waits_exclude();
        due_ns = now_ns + gap_ns;
        return;
    }
    uint64_t start_ns = own_cpu_ns();
    uint64_t thinning = account_thinning(ACCOUNT_WAITS);
    earn((now_ns - last_ns) * BUDGET / 1000 * ACCOUNT_ALL / thinning);
    last_ns = now_ns;
    bool is_busy = false;
    bool has_sampled = credit_ns > 0;
    if (has_sampled) {
        is_busy = sample_all(interval, now_ns, start_ns);
        has_begun = true;
    } else {
        thinned += live_count; /* without a look at the list, which costs as much as samples */
    }
    uint64_t used_ns = pay(start_ns - waking_cost_ns(start_ns, is_alone));
    if (has_sampled)
        cost_ns = (cost_ns * 7 + used_ns) / 8;
    if (is_busy)
        fast_until_ns = now_ns + FAST_NS;
    uint64_t mean_ns = wanted_gap_ns(now_ns) * thinning / ACCOUNT_ALL;
    uint64_t least_ns = time_to_earn_ns(cost_ns, thinning); /* as often as the budget allows on average */
    uint64_t owed_ns = credit_ns < 0 ? time_to_earn_ns((uint64_t)-credit_ns, thinning) : 0;
    due_ns = monotonic_ns() + jittered_ns(mean_ns > least_ns ? mean_ns : least_ns) + owed_ns;
}

void waits_sample(struct interval *interval, bool is_alone)
{
    uint64_t now_ns = monotonic_ns();
    if (gap_ns == 0)
        return;
    if (now_ns >= due_ns)
        take_turn(interval, now_ns, is_alone);
    turn_ended_ns = own_cpu_ns();
}

void waits_finish(struct interval *interval)
{
    if (gap_ns == 0 || !has_begun || !switch_is_sampling())
        return;
    uint64_t start_ns = own_cpu_ns();
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        if (is_live(thread))
            sample(interval, thread, false);
    pay(start_ns);
}

static void put_sites(struct buffer *out)
{
    buffer_varint(out, sites.count);
    for (size_t i = 0; i < sites.count; i++) {
        const struct wait_site *site = table_record(&sites, i);
        uint64_t before = 0;
        buffer_varint(out, site->node);
        buffer_varint(out, site->count);
        for (size_t j = 0; j < site->count; j++) {
            buffer_varint(out, site->frames[j].module);
            buffer_zigzag(out, (int64_t)(site->frames[j].address - before));
            before = site->frames[j].address;
        }
    }
}

void waits_put(struct interval *interval)
{
    uint64_t start_ns = own_cpu_ns();
    for (struct thread *thread = thread_first(); gap_ns > 0 && thread != NULL; thread = thread->next) {
        put_span(interval, &thread->waits);
        thread->waits.span.count = 0;
    }
    if (sampled > 0 || thinned > 0 || spans.length > 0) {
        struct buffer *out = &interval->images;
        size_t start = stream_begin_image(out, IMAGE_WAITS, 0, interval->number);
        buffer_varint(out, sampled);
        buffer_varint(out, thinned);
        buffer_varint(out, consumed_ns / 1000);
        buffer_varint(out, is_refused);
        put_sites(out);
        buffer_bytes(out, spans.data, spans.length);
        out->failed |= spans.failed;
        stream_end_image(out, start);
    }
    table_clear(&sites);
    spans.length = 0;
    spans.failed = false;
    sampled = thinned = consumed_ns = 0;
    if (gap_ns > 0)
        pay(start_ns); /* counts for the next interval */
}

void waits_exclude(void)
{
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next) {
        thread->waits.since_ns = thread->waits.due_ns = 0;
        thread->waits.runs = 0;
    }
}

void waits_park(void)
{
    task_forget();
    turn_ended_ns = 0;
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        thread->waits.times_file = thread->waits.call_file = thread->waits.descriptors = 0;
}

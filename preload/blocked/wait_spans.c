#define _GNU_SOURCE
#include "wait_spans.h"

#include <string.h>

#include "stream.h"
#include "sys.h"

/* Threads wait for short times if they wait for this part of a span, which they do not spend in one wait. */
#define SHARE_OF_SHORT 8
/* A shorter wait than this part of a span is negligible. */
#define SHARE_OF_ANY 64
/* Spans that only estimate are joined up to this length: phases may begin in between. */
#define LONGEST_SPAN_NS 250000000u

/* A thread that stays in one wait takes no sample for this part of the wait so far, and this time at most. Its times
 * remain exact; only the end of the wait is found later. */
#define PART_WITHOUT 16
#define MOST_WITHOUT_NS 250000000u

/* A round of samples of all threads, and how long after the round before it. */
struct sampling_round {
    uint64_t at_ns, gap_ns;
};
static struct sampling_round this_round, last_round;

enum wait_state { STATE_NOT_BLOCKED, STATE_BLOCKED, STATE_ONE_WAIT, STATE_BRIEF };

void wait_spans_begin(struct wait_spans *spans)
{
    spans->sites.record_size = spans->sites.key_size = sizeof(struct wait_site);
    table_clear(&spans->sites);
    spans->spans.length = 0;
    spans->previous_us = spans->sampled = spans->thinned = spans->consumed_ns = spans->delayed_ns = 0;
    spans->is_refused = false;
}

/* Write the thread's span to the interval's. */
static void put_span(struct wait_spans *spans, const struct interval *interval, const struct thread_waits *waits)
{
    const struct wait_span *span = &waits->span;
    struct buffer *out = &spans->spans;
    uint64_t begin_us = span->begin_ns / 1000;
    if (span->count == 0)
        return;
    if (out->length == 0)
        spans->previous_us = interval->start_ns / 1000;
    buffer_zigzag(out, (int64_t)(begin_us - spans->previous_us));
    spans->previous_us = begin_us;
    buffer_varint(out, span->end_ns / 1000 - begin_us);
    buffer_varint(out, waits->owner - 1);
    buffer_varint(out, span->waited_ns / 1000);
    buffer_varint(out, span->delayed_ns / 1000);
    buffer_varint(out, (uint64_t)span->count * 4 + span->state);
    bool is_blocked = span->state != STATE_NOT_BLOCKED;
    const uint8_t *record = is_blocked ? table_add(&spans->sites, &span->site, NULL) : NULL;
    uint64_t site = record != NULL ? (uint64_t)(record - spans->sites.records) / sizeof(struct wait_site) + 1 : 0;
    buffer_varint(out, site);
    buffer_varint(out, span->call);
    buffer_varint(out, span->object);
    buffer_varint(out, span->holder);
}

static bool is_same(const struct wait_span *one, const struct wait_span *other)
{
    return one->state == other->state && one->call == other->call && one->object == other->object &&
           one->holder == other->holder && memcmp(&one->site, &other->site, sizeof one->site) == 0;
}

/* Add a span to the thread's, or write that one and begin another. The first span after a change stays alone: it holds
 * the rest of what the thread did before. */
static void add_span(struct wait_spans *spans, const struct interval *interval, struct thread_waits *waits,
                     const struct wait_span *span)
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
    put_span(spans, interval, waits);
    *open = *span;
    open->is_first = !is_joined;
}

static bool is_same_call(const struct task_call *one, const struct task_call *other)
{
    return one->number == other->number && one->sp == other->sp && one->pc == other->pc;
}

/* Read the call path and the lock's holder of a thread that is blocked in `call`, and then, into `call`, what it is
 * blocked in by now. Returns whether that is the same. If not, its stack may be another one by now; then only a
 * complete path counts. */
static bool describe(const struct blocked_thread *thread, struct task_call *call, struct wait_path *path,
                     bool *has_path, uint32_t *holder)
{
    const struct task_call before = *call;
    if (before.sp != 0)
        wait_path_walk(thread, &before, path);
    *holder = wait_lock_holder(thread->process, &before);
    if (*holder == thread->number + 1) /* it has just got the lock */
        *holder = 0;
    bool is_same = before.sp == 0 || /* nothing is known of it */
                   (task_call(thread->waits, thread->tid, call) == TASK_BLOCKED && is_same_call(call, &before));
    *has_path = before.sp != 0 && (is_same || path->is_complete);
    return is_same;
}

/* Describe what a thread waits for if it is blocked. Its first system call decides, however short the wait: otherwise,
 * the shorter waits are, the more of them would be missed. If that ends before its path was read, the thread may be
 * found in the same call again. False: it has ended. */
static bool observe(const struct blocked_thread *thread, uint64_t *now_ns, struct wait_span *span)
{
    struct task_call call;
    static struct wait_path path;
    bool has_path;
    *now_ns = monotonic_ns();
    enum task_result result = task_call(thread->waits, thread->tid, &call);
    if (result == TASK_GONE || result == TASK_RUNNING)
        return result == TASK_RUNNING;
    int64_t number = call.number;
    thread->process->spans->is_refused |= result == TASK_REFUSED;
    span->object = wait_object_of(thread->waits, thread->tid, &call);
    bool is_brief = !describe(thread, &call, &path, &has_path, &span->holder);
    if (!has_path && is_brief && call.sp != 0 && call.number == number)
        describe(thread, &call, &path, &has_path, &span->holder);
    if (has_path && path.is_ours)
        return true;
    span->state = is_brief ? STATE_BRIEF : STATE_BLOCKED;
    span->call = number >= 0 ? (uint32_t)number + 1 : 0;
    if (has_path) {
        wait_path_add(thread->process, &path);
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

/* The kernel counts a delay when it ends: what does not fit into `span` began in the thread's span before it, and was
 * taken for waiting there. Returns the nanoseconds that began earlier still, in spans that are written: readers move
 * them. */
static uint64_t move_delay(struct wait_span *before, struct wait_span *span, uint64_t cpu_ns)
{
    uint64_t wall_ns = span->end_ns - span->begin_ns;
    uint64_t room_ns = wall_ns > cpu_ns ? wall_ns - cpu_ns : 0;
    if (span->delayed_ns <= room_ns)
        return 0;
    uint64_t early_ns = span->delayed_ns - room_ns;
    span->delayed_ns = room_ns;
    if (before->count == 0 || before->end_ns != span->begin_ns)
        return early_ns;
    uint64_t moved_ns = early_ns < before->waited_ns ? early_ns : before->waited_ns;
    before->waited_ns -= moved_ns;
    before->delayed_ns += moved_ns;
    return early_ns - moved_ns;
}

/* Begin to account for a thread: from its start on, or from now on if other code has used its clock before. Most short
 * threads begin and end between two rounds. So that the others stand for them, a thread that has begun since the last
 * round begins in the middle between that and this one. Returns whether it does. */
static bool begin_thread(const struct blocked_thread *thread, const struct task_times *times, uint64_t now_ns)
{
    struct thread_waits *waits = thread->waits;
    bool is_new = thread->start_ns != 0 && waits->owner == 0;
    bool is_between = is_new && this_round.gap_ns > 0 && thread->start_ns + this_round.gap_ns > this_round.at_ns;
    waits->owner = thread->number + 1;
    waits->owed_ns = 0;
    waits->runs = 0;
    waits->span.count = 0;
    waits->since_ns = is_between ? this_round.at_ns - this_round.gap_ns / 2 : is_new ? thread->start_ns : now_ns;
    waits->cpu_ns = is_new && !is_between ? 0 : times->cpu_ns;
    waits->delay_ns = is_new && !is_between ? 0 : times->delay_ns;
    return is_between;
}

/* Complete the span of a thread up to the first sample of it, which it stands for: in the same state all the time. */
static void stand_for(struct wait_span *span, const struct task_times *times)
{
    if (span->state != STATE_NOT_BLOCKED)
        return;
    uint64_t used_us = (times->cpu_ns + times->delay_ns) / 1000 + 1;
    span->waited_ns = 0;
    span->delayed_ns = (span->end_ns - span->begin_ns) / 1000 * (times->delay_ns / used_us);
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

enum wait_activity wait_spans_sample(const struct blocked_thread *thread, bool deep)
{
    struct wait_spans *spans = thread->process->spans;
    const struct interval *interval = thread->process->interval;
    struct thread_waits *waits = thread->waits;
    struct task_times times;
    if (waits->owner != thread->number + 1) /* the record is another thread's now */
        wait_spans_finish(spans, interval, waits);
    if (!task_times(waits, thread->tid, &times))
        return ACTIVITY_NONE;
    uint64_t now_ns = monotonic_ns();
    bool is_between = waits->since_ns == 0 && begin_thread(thread, &times, now_ns);
    spans->sampled++;
    struct wait_span span = {.begin_ns = waits->since_ns, .count = 1};
    bool is_one_wait = waits->runs != 0 && waits->runs == times.runs && times.cpu_ns == waits->cpu_ns;
    if (is_one_wait)
        continue_wait(&span, &waits->span);
    else
        waits->same_since_ns = now_ns;
    uint64_t without_ns = (now_ns - waits->same_since_ns) / PART_WITHOUT;
    waits->due_ns = now_ns + (without_ns < MOST_WITHOUT_NS ? without_ns : MOST_WITHOUT_NS);
    if (!is_one_wait && deep && !observe(thread, &now_ns, &span))
        return ACTIVITY_NONE;
    waits->runs = span.state == STATE_BLOCKED || span.state == STATE_ONE_WAIT ? times.runs : 0;
    if (now_ns <= waits->since_ns)
        return ACTIVITY_NONE;
    span.end_ns = now_ns;
    span.delayed_ns = times.delay_ns - waits->delay_ns;
    spans->delayed_ns += thread->number == 0 ? span.delayed_ns : 0;
    uint64_t early_ns = move_delay(&waits->span, &span, times.cpu_ns - waits->cpu_ns);
    span.waited_ns = waited_ns(waits, now_ns - waits->since_ns, times.cpu_ns - waits->cpu_ns + span.delayed_ns);
    span.delayed_ns += early_ns;
    if (is_between)
        stand_for(&span, &times);
    add_span(spans, interval, waits, &span);
    waits->since_ns = now_ns;
    waits->cpu_ns = times.cpu_ns;
    waits->delay_ns = times.delay_ns;
    uint64_t length_ns = span.end_ns - span.begin_ns;
    if (is_one_wait || span.waited_ns < length_ns / SHARE_OF_ANY)
        return ACTIVITY_NONE;
    return span.waited_ns >= length_ns / SHARE_OF_SHORT ? ACTIVITY_SHORT : ACTIVITY_WAITS;
}

bool wait_spans_are_settled(const struct thread_waits *waits, uint64_t number, uint64_t now_ns)
{
    return waits->due_ns > now_ns && waits->owner == number + 1;
}

void wait_spans_close(struct wait_spans *spans, const struct interval *interval, struct thread_waits *waits)
{
    put_span(spans, interval, waits);
    waits->span.count = 0;
}

/* Account for an ended thread until half of a gap after the last round in which it was alive, in the same state as
 * then. */
static void end_thread(struct wait_spans *spans, const struct interval *interval, struct thread_waits *waits)
{
    struct wait_span span = {
        .begin_ns = waits->since_ns, .end_ns = last_round.at_ns + last_round.gap_ns / 2, .count = 1};
    if (waits->since_ns == 0 || last_round.at_ns == 0 || span.end_ns <= span.begin_ns)
        return;
    continue_wait(&span, &waits->span);
    span.state = waits->span.state;
    if (span.state != STATE_NOT_BLOCKED)
        span.waited_ns = span.end_ns - span.begin_ns;
    add_span(spans, interval, waits, &span);
}

void wait_spans_finish(struct wait_spans *spans, const struct interval *interval, struct thread_waits *waits)
{
    if (waits->owner == 0)
        return;
    end_thread(spans, interval, waits);
    put_span(spans, interval, waits);
    task_close(waits);
    *waits = (struct thread_waits){0};
}

void wait_spans_begin_round(uint64_t now_ns)
{
    this_round =
        (struct sampling_round){.at_ns = now_ns, .gap_ns = last_round.at_ns > 0 ? now_ns - last_round.at_ns : 0};
}

void wait_spans_end_round(void)
{
    last_round = this_round;
}

void wait_spans_forget_rounds(void)
{
    last_round = (struct sampling_round){.at_ns = 0};
}

void wait_spans_exclude(struct thread_waits *waits)
{
    wait_spans_forget_rounds();
    waits->since_ns = waits->due_ns = 0;
    waits->runs = 0;
}

static void put_sites(const struct table *sites, struct buffer *out)
{
    buffer_varint(out, sites->count);
    for (size_t i = 0; i < sites->count; i++) {
        const struct wait_site *site = table_record(sites, i);
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

void wait_spans_put(struct wait_spans *spans, struct interval *interval)
{
    if (spans->sampled > 0 || spans->thinned > 0 || spans->spans.length > 0) {
        struct buffer *out = &interval->images;
        size_t start = stream_begin_image(out, IMAGE_WAITS, 0, interval->number);
        buffer_varint(out, spans->sampled);
        buffer_varint(out, spans->thinned);
        buffer_varint(out, spans->consumed_ns / 1000);
        buffer_varint(out, spans->is_refused);
        put_sites(&spans->sites, out);
        if (spans->spans.length > 0)
            buffer_bytes(out, spans->spans.data, spans->spans.length);
        out->failed |= spans->spans.failed;
        stream_end_image(out, start);
    }
    table_clear(&spans->sites);
    spans->spans.length = 0;
    spans->spans.failed = false;
    spans->sampled = spans->thinned = spans->consumed_ns = spans->delayed_ns = 0;
}

void wait_spans_free(struct wait_spans *spans)
{
    table_free(&spans->sites);
    buffer_free(&spans->spans);
    *spans = (struct wait_spans){.sampled = 0};
}

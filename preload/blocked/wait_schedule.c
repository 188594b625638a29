#define _GNU_SOURCE
#include "wait_schedule.h"

#include <sched.h>

#include "account.h"
#include "sampler_place.h"
#include "sched_attributes.h"
#include "sys.h"
#include "wait_spans.h"

#define NEVER_NS (UINT64_MAX / 4)
/* What may be saved up of the budget. */
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
/* If no thread has begun or ended a wait for so long, samples are rarer by this factor. */
#define CALM_NS 1000000000u
#define RARER 3

static uint64_t gap_ns; /* mean; 0: off */
static uint64_t budget; /* in millionths of one processor */
static uint64_t due_ns, last_ns, fast_until_ns, calm_since_ns, cost_ns;
static int64_t credit_ns;
static uint64_t reserve_ns; /* set aside for the end */
/* On the own CPU clock: mean cost of waking up for samples, and when the last round of the caller ended. */
static uint64_t waking_ns, round_ended_ns;
static uint64_t live_count; /* of threads, at the last samples */
static uint64_t random_state;
static void *resume; /* the item at which the budget was spent */
static bool is_prepared;
static struct {
    uint64_t start_ns; /* on the own CPU clock */
    uint64_t thinning;
} round;

void wait_schedule_begin(uint64_t per_second, uint64_t recording_budget)
{
    budget = recording_budget * 3 / 2 / 1000000;
    gap_ns = per_second > 0 ? 1000000000u / per_second : 0;
    due_ns = gap_ns > 0 ? 0 : NEVER_NS;
    last_ns = calm_since_ns = monotonic_ns();
    credit_ns = 0;
    reserve_ns = live_count = round_ended_ns = fast_until_ns = cost_ns = 0;
    waking_ns = WAKING_NS;
    random_state = last_ns | 1;
    resume = NULL;
    is_prepared = false;
    task_forget();
    wait_spans_forget_rounds();
}

bool wait_schedule_exist(void)
{
    return gap_ns > 0;
}

uint64_t wait_schedule_due_ns(void)
{
    return due_ns;
}

void wait_schedule_postpone(uint64_t now_ns)
{
    due_ns = now_ns + gap_ns;
}

/* Draw a time between half and one and a half times the mean: no program is in step with it. */
static uint64_t jittered_ns(uint64_t mean_ns)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return mean_ns / 2 + random_state % (mean_ns + 1);
}

uint64_t wait_schedule_clock_ns(void)
{
    return sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Make the calling thread run as soon as it wakes up. If it had to wait for a processor until another thread blocks, it
 * would mostly find waits that have just begun: too few of the long ones, and too many of those that are frequent. */
static void request_punctuality(void)
{
    struct sched_attributes attributes = {.size = sizeof attributes};
    if (SYS4(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 || attributes.policy != SCHED_OTHER)
        return;
    attributes.flags |= SCHED_RESET_ON_FORKS;
    attributes.runtime = SHORT_SLICE_NS;
    SYS3(SYS_sched_setattr, 0, &attributes, 0);
}

static void prepare_thread(void)
{
    is_prepared = true;
    request_punctuality();
    sampler_place_begin();
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

uint64_t wait_schedule_pay(uint64_t start_ns)
{
    uint64_t used_ns = wait_schedule_clock_ns() - start_ns;
    credit_ns -= (int64_t)used_ns;
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
static uint64_t time_to_earn_ns(uint64_t cost)
{
    return cost * 1000000 / budget * round.thinning / ACCOUNT_ALL;
}

/* Return the cost of waking up, which a busy machine makes several times as large: of this round if it is for samples
 * alone, else the mean. */
static uint64_t waking_cost_ns(bool is_alone)
{
    if (!is_alone || round_ended_ns == 0)
        return waking_ns;
    uint64_t cost = round.start_ns - round_ended_ns;
    waking_ns = (waking_ns * 7 + cost) / 8;
    return cost;
}

/* Return whether the round has spent the budget, after its `count`-th thread, from 0. */
static bool is_budget_spent(size_t count)
{
    return count % BETWEEN_CLOCKS == BETWEEN_CLOCKS - 1 &&
           (int64_t)(wait_schedule_clock_ns() - round.start_ns) > credit_ns;
}

static enum wait_activity sample_all(const struct wait_source *source, uint64_t now_ns)
{
    void *first = resume != NULL ? resume : source->first();
    void *item = first;
    enum wait_activity most = ACTIVITY_NONE;
    bool has_stopped = false;
    size_t count = 0;
    live_count = 0;
    resume = NULL;
    while (item != NULL) {
        struct blocked_thread thread;
        void *next = source->next(item);
        next = next != NULL ? next : source->first();
        bool lives = source->find(item, &thread);
        live_count += lives;
        if (!lives) {
            wait_spans_finish(thread.process->spans, thread.process->interval, thread.waits);
        } else if (wait_spans_are_settled(thread.waits, thread.number, now_ns)) {
            /* no sample is due */
        } else if (has_stopped) {
            thread.process->spans->thinned++;
        } else {
            enum wait_activity activity = wait_spans_sample(&thread, true);
            most = activity > most ? activity : most;
            if (activity == ACTIVITY_SHORT)
                sampler_place_note(thread.tid, now_ns);
            has_stopped = is_budget_spent(count++);
            resume = has_stopped ? next : NULL;
        }
        item = next != first ? next : NULL;
    }
    return most;
}

struct wait_round wait_schedule_take(const struct wait_source *source, uint64_t now_ns, uint64_t thinning,
                                     bool is_alone)
{
    enum wait_activity activity = ACTIVITY_NONE;
    if (!is_prepared)
        prepare_thread();
    round.start_ns = wait_schedule_clock_ns();
    round.thinning = thinning;
    earn((now_ns - last_ns) / 1000 * budget / 1000 * ACCOUNT_ALL / thinning);
    last_ns = now_ns;
    bool has_sampled = credit_ns > 0;
    if (has_sampled) {
        wait_spans_begin_round(now_ns);
        activity = sample_all(source, now_ns);
        wait_spans_end_round();
        sampler_place_choose(now_ns);
    }
    uint64_t used_ns = wait_schedule_pay(round.start_ns - waking_cost_ns(is_alone));
    if (has_sampled)
        cost_ns = (cost_ns * 7 + used_ns) / 8;
    if (activity >= ACTIVITY_WAITS)
        calm_since_ns = now_ns;
    if (activity == ACTIVITY_SHORT)
        fast_until_ns = now_ns + FAST_NS;
    uint64_t mean_ns = wanted_gap_ns(now_ns) * thinning / ACCOUNT_ALL;
    uint64_t least_ns = time_to_earn_ns(cost_ns); /* as often as the budget allows on average */
    uint64_t owed_ns = credit_ns < 0 ? time_to_earn_ns((uint64_t)-credit_ns) : 0;
    due_ns = monotonic_ns() + jittered_ns(mean_ns > least_ns ? mean_ns : least_ns) + owed_ns;
    return (struct wait_round){
        .has_sampled = has_sampled,
        .left_out = has_sampled ? 0 : live_count, /* without a look at the list, which costs as much as samples */
        .used_ns = used_ns,
    };
}

void wait_schedule_skip(const void *item)
{
    if (resume == item)
        resume = NULL;
}

void wait_schedule_sleep(void)
{
    round_ended_ns = wait_schedule_clock_ns();
}

void wait_schedule_park(void)
{
    round_ended_ns = 0;
    is_prepared = false;
    task_forget();
}

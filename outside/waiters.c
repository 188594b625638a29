#define _GNU_SOURCE
#include "follow.h"

#include <stdlib.h>

#include "account.h"
#include "wait_schedule.h"

/* A thread of a followed process. */
struct waiter {
    struct waiter *next, **at; /* `at`: what points to it */
    struct followed *process;
    pid_t tid;
    uint32_t number;
    uint64_t start_ns; /* 0 once it has been sampled, or could not be */
    struct thread_waits waits;
};

static struct waiter *waiters;
static const struct followed *selected; /* in this round */
/* Not part of an image yet: of all processes, because a round samples them together. */
static uint64_t used_ns, left_out;

void waiters_begin(uint64_t per_second, uint64_t recording_budget)
{
    wait_schedule_begin(per_second, recording_budget);
}

void waiters_add(struct followed *process, pid_t tid, uint32_t number, uint64_t start_ns)
{
    struct waiter *waiter = wait_schedule_exist() ? calloc(1, sizeof *waiter) : NULL;
    if (waiter == NULL)
        return;
    *waiter = (struct waiter){
        .next = waiters, .at = &waiters, .process = process, .tid = tid, .number = number, .start_ns = start_ns};
    if (waiters != NULL)
        waiters->at = &waiter->next;
    waiters = waiter;
}

/* Remove a thread, and write the rest of its time if its process is still recorded. */
static void drop(struct waiter *waiter)
{
    wait_schedule_skip(waiter);
    wait_spans_finish(&waiter->process->waits, &waiter->process->interval, &waiter->waits);
    *waiter->at = waiter->next;
    if (waiter->next != NULL)
        waiter->next->at = waiter->at;
    free(waiter);
}

void waiters_remove(struct followed *process, pid_t tid)
{
    struct waiter *next;
    for (struct waiter *waiter = waiters; waiter != NULL; waiter = next) {
        next = waiter->next;
        if (waiter->process == process && waiter->tid == tid)
            drop(waiter);
    }
}

uint64_t waiters_due_ns(void)
{
    return wait_schedule_due_ns();
}

/* Return 1 + the number of the selected process's thread with this id. In a process with its own numbering of
 * processes, as in a container, the id is another thread's. */
static uint32_t number_of(pid_t tid)
{
    if (selected == NULL || selected->jit_names.process.inner != selected->pid)
        return 0;
    for (const struct waiter *waiter = waiters; waiter != NULL; waiter = waiter->next)
        if (waiter->process == selected && waiter->tid == tid)
            return waiter->number + 1;
    return 0;
}

/* Select the process for the functions that sample its threads. */
static void select_process(struct followed *process)
{
    followed_use(process);
    process->blocked = (struct blocked_process){
        .interval = &process->interval,
        .spans = &process->waits,
        .cache = &process->cache,
        .python = process->python_codes,
        .thread_number = number_of,
    };
    selected = process;
}

static void *first_item(void)
{
    return waiters;
}

static void *next_item(void *item)
{
    return ((struct waiter *)item)->next;
}

static bool find_thread(void *item, struct blocked_thread *found)
{
    struct waiter *waiter = item;
    struct followed *process = waiter->process;
    bool is_there = process->is_recorded && process->stopped_ns == 0;
    if (is_there && selected != process)
        select_process(process);
    process->blocked.spans = &process->waits;
    process->blocked.interval = &process->interval;
    *found = (struct blocked_thread){
        .process = &process->blocked,
        .waits = &waiter->waits,
        .tid = waiter->tid,
        .number = waiter->number,
        .start_ns = waiter->start_ns,
        .stack_low = 0,
        .stack_high = UINT64_MAX,
    };
    waiter->start_ns = 0;
    return is_there;
}

/* Scan code that has been mapped since, which takes far longer than samples and is needed anyway. Returns whether there
 * was any. */
static bool scan_code(void)
{
    bool is_any = false;
    for (const struct waiter *waiter = waiters; waiter != NULL; waiter = waiter->next) {
        if (!waiter->process->is_recorded || !waiter->process->maps_changed)
            continue;
        followed_use(waiter->process);
        is_any = true;
    }
    return is_any;
}

void waiters_sample(uint64_t now_ns, bool is_alone)
{
    static const struct wait_source source = {first_item, next_item, find_thread};
    if (!wait_schedule_exist())
        return;
    if (now_ns >= wait_schedule_due_ns()) {
        bool has_scanned = scan_code();
        selected = NULL;
        struct wait_round round = wait_schedule_take(&source, now_ns, ACCOUNT_ALL, is_alone && !has_scanned);
        used_ns += round.used_ns;
        left_out += round.left_out;
    }
    wait_schedule_sleep();
}

void waiters_finish(struct followed *process)
{
    struct blocked_thread found;
    uint64_t start_ns = wait_schedule_clock_ns();
    selected = NULL;
    for (struct waiter *waiter = waiters; waiter != NULL; waiter = waiter->next)
        if (waiter->process == process && waiter->waits.owner != 0 && find_thread(waiter, &found))
            wait_spans_sample(&found, false);
    used_ns += wait_schedule_pay(start_ns);
}

void waiters_put(struct followed *process)
{
    uint64_t start_ns = wait_schedule_clock_ns();
    if (!wait_schedule_exist())
        return;
    for (struct waiter *waiter = waiters; waiter != NULL; waiter = waiter->next)
        if (waiter->process == process)
            wait_spans_close(&process->waits, &process->interval, &waiter->waits);
    process->waits.consumed_ns = used_ns;
    process->waits.thinned += left_out;
    wait_spans_put(&process->waits, &process->interval);
    left_out = 0;
    used_ns = wait_schedule_pay(start_ns);
}

void waiters_exclude(struct followed *process)
{
    for (struct waiter *waiter = waiters; waiter != NULL; waiter = waiter->next) {
        if (waiter->process != process)
            continue;
        wait_spans_exclude(&waiter->waits);
        waiter->start_ns = 0;
    }
}

void waiters_forget(struct followed *process)
{
    struct waiter *next;
    for (struct waiter *waiter = waiters; waiter != NULL; waiter = next) {
        next = waiter->next;
        if (waiter->process == process)
            drop(waiter);
    }
}

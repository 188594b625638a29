/* Thread safety: `spent`, `rest_ns`, `start_ns`, `thinning`, `wrappers_ns`, `worker_ns` and `due_ns` are atomic. The
 * rest belongs to the thread that has set `is_updating`; a thread that finds it set leaves the update to that one. */
#define _GNU_SOURCE
#include "account.h"

#include <string.h>

#include "sys.h"

#define MILLION 1000000u
#define PPM_OF_NANO_PERCENT 100000u
#define PERIOD_NS 10000000u /* between updates */
/* A program that mostly waits is taken to use one eighth of a processor. */
#define PART_OF_WALL 8
/* What was spent too much or too little is made up for over so much CPU time. */
#define AHEAD_NS 1000000000
/* The start's cost is spread over so much CPU time. */
#define START_NS 10000000000u
/* Costs are those of the last quarter to half of a second of CPU time. */
#define RECENT_NS 500000000u
/* Of the budget, so much is left to the parts that can be thinned, whatever the others have spent. */
#define LEAST_PART 4
/* Nothing is thinned before these have cost so much: the first samples bring code and tables into memory. */
#define GRACE_NS 4000000u
#define MOST_TICKS_THINNED 8
#define WEIGHT_OF_TICKS 3    /* they may cost more than another part: phases are made of them */
#define MOST_WAITS_THINNED 2 /* they have a limit of their own, and a program that waits loses no time by them */
#define MOST_EVENTS_THINNED 4096

static uint64_t spent[ACCOUNT_PARTS];
static uint32_t thinning[ACCOUNT_PARTS] = {[0 ... ACCOUNT_PARTS - 1] = ACCOUNT_ALL};
static uint64_t rest_ns, start_ns, wrappers_ns, due_ns;
static uint64_t worker_ns; /* of the interval thread, without its samples of waits: a part has these */
static bool is_updating;

static uint64_t budget_ppm; /* of the CPU time */
static uint64_t last_cpu_ns, last_ns, last_worker_ns, last_rest_ns;
static uint64_t time_ns; /* of the run: CPU time, or a part of the time that passed */
static struct {
    uint64_t time_ns, fixed_ns;        /* the latter: of the interval thread and the rest */
    uint64_t wanted_ns[ACCOUNT_PARTS]; /* cost without thinning */
} recent;
static uint64_t spent_before[ACCOUNT_PARTS];

static uint64_t process_cpu_ns(void)
{
    return sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void account_begin(const struct config *config)
{
    budget_ppm = config->budget / PPM_OF_NANO_PERCENT;
    memset(spent, 0, sizeof spent);
    memset(spent_before, 0, sizeof spent_before);
    memset(&recent, 0, sizeof recent);
    for (size_t part = 0; part < ACCOUNT_PARTS; part++)
        thinning[part] = ACCOUNT_ALL;
    rest_ns = start_ns = wrappers_ns = worker_ns = time_ns = last_worker_ns = last_rest_ns = 0;
    is_updating = false;
    last_cpu_ns = process_cpu_ns();
    last_ns = monotonic_ns();
    due_ns = budget_ppm < MILLION ? last_ns + PERIOD_NS : UINT64_MAX;
}

uint32_t account_thinning(enum account_part part)
{
    return __atomic_load_n(&thinning[part], __ATOMIC_RELAXED);
}

void account_set_wrappers(uint64_t ns)
{
    __atomic_store_n(&wrappers_ns, ns, __ATOMIC_RELAXED);
}

void account_set_worker(uint64_t ns)
{
    uint64_t waits_ns = __atomic_load_n(&spent[ACCOUNT_WAITS], __ATOMIC_RELAXED);
    __atomic_store_n(&worker_ns, ns > waits_ns ? ns - waits_ns : 0, __ATOMIC_RELAXED);
}

/* Note what was spent since the last update. Returns what the parts have cost since the beginning. */
static uint64_t note_spent(uint64_t now_ns, uint64_t cpu_ns)
{
    uint64_t so_far_worker_ns = __atomic_load_n(&worker_ns, __ATOMIC_RELAXED), sum_ns = 0;
    uint64_t of_wall_ns = (now_ns - last_ns) / PART_OF_WALL, more_ns = cpu_ns - last_cpu_ns;
    more_ns = more_ns > of_wall_ns ? more_ns : of_wall_ns;
    time_ns += more_ns;
    recent.time_ns += more_ns;
    uint64_t so_far_rest_ns = __atomic_load_n(&rest_ns, __ATOMIC_RELAXED);
    recent.fixed_ns +=
        (so_far_worker_ns > last_worker_ns ? so_far_worker_ns - last_worker_ns : 0) + so_far_rest_ns - last_rest_ns;
    for (size_t part = 0; part < ACCOUNT_PARTS; part++) {
        uint64_t so_far_ns = __atomic_load_n(&spent[part], __ATOMIC_RELAXED);
        recent.wanted_ns[part] += (so_far_ns - spent_before[part]) * thinning[part] / ACCOUNT_ALL;
        spent_before[part] = so_far_ns;
        sum_ns += so_far_ns;
    }
    last_ns = now_ns;
    last_cpu_ns = cpu_ns;
    last_worker_ns = so_far_worker_ns;
    last_rest_ns = so_far_rest_ns;
    return sum_ns;
}

static void forget_half(void)
{
    recent.time_ns /= 2;
    recent.fixed_ns /= 2;
    for (size_t part = 0; part < ACCOUNT_PARTS; part++)
        recent.wanted_ns[part] /= 2;
}

/* Return a recent cost as a share of the CPU time. */
static uint64_t ppm(uint64_t recent_ns)
{
    return recent_ns * MILLION / (recent.time_ns + 1);
}

static uint64_t weight(size_t part)
{
    return part == ACCOUNT_TICKS ? WEIGHT_OF_TICKS : 1;
}

/* Return what a part of weight 1 may cost at most, so that all together cost no more than `pool_ppm`; UINT64_MAX: no
 * limit. */
static uint64_t level_ppm(uint64_t pool_ppm)
{
    bool is_below[ACCOUNT_PARTS] = {false};
    uint64_t left = pool_ppm, level = 0, weights = ACCOUNT_PARTS - 1 + WEIGHT_OF_TICKS;
    for (bool has_changed = true; has_changed && weights > 0;) {
        has_changed = false;
        level = left / weights;
        for (size_t part = 0; part < ACCOUNT_PARTS; part++) {
            uint64_t wanted = ppm(recent.wanted_ns[part]);
            if (is_below[part] || wanted > level * weight(part))
                continue;
            is_below[part] = has_changed = true;
            left -= wanted;
            weights -= weight(part);
        }
    }
    return weights > 0 ? level : UINT64_MAX;
}

static uint64_t most_thinned(size_t part)
{
    return part == ACCOUNT_TICKS   ? MOST_TICKS_THINNED
           : part == ACCOUNT_WAITS ? MOST_WAITS_THINNED
                                   : MOST_EVENTS_THINNED;
}

static uint32_t thinning_to(uint64_t wanted, uint64_t level, uint64_t most)
{
    if (wanted <= level)
        return ACCOUNT_ALL;
    uint64_t factor = level > 0 ? wanted * ACCOUNT_ALL / level : UINT64_MAX;
    return (uint32_t)(factor < most * ACCOUNT_ALL ? factor : most * ACCOUNT_ALL);
}

/* Return what has been spent beside the parts. */
static uint64_t others_ns(void)
{
    uint64_t start_part = time_ns < START_NS ? time_ns : START_NS;
    return last_worker_ns + last_rest_ns + __atomic_load_n(&wrappers_ns, __ATOMIC_RELAXED) +
           __atomic_load_n(&start_ns, __ATOMIC_RELAXED) * (start_part / MILLION) / (START_NS / MILLION);
}

/* Return the share of the CPU time ahead that is left to the parts that can be thinned. */
static uint64_t pool_ppm(uint64_t of_parts_ns)
{
    uint64_t spent_ns = of_parts_ns + others_ns();
    uint64_t program_ns = time_ns > spent_ns ? time_ns - spent_ns : 0;
    int64_t balance_ns = (int64_t)(program_ns / MILLION * budget_ppm) - (int64_t)spent_ns;
    int64_t balance = balance_ns / (AHEAD_NS / (int64_t)MILLION);
    int64_t budget = (int64_t)budget_ppm, fixed = (int64_t)ppm(recent.fixed_ns);
    /* What the interval thread does at the start and the end of an interval is in the balance once it is done. */
    int64_t pool = budget + balance - (fixed < budget / 2 ? fixed : budget / 2);
    return (uint64_t)(pool > budget / LEAST_PART ? pool : budget / LEAST_PART);
}

static void update(uint64_t now_ns)
{
    uint64_t of_parts_ns = note_spent(now_ns, process_cpu_ns());
    uint64_t level = of_parts_ns > GRACE_NS ? level_ppm(pool_ppm(of_parts_ns)) : UINT64_MAX;
    for (size_t part = 0; part < ACCOUNT_PARTS; part++) {
        uint64_t limit = level < UINT64_MAX ? level * weight(part) : UINT64_MAX;
        uint32_t to = thinning_to(ppm(recent.wanted_ns[part]), limit, most_thinned(part));
        __atomic_store_n(&thinning[part], to, __ATOMIC_RELAXED);
    }
    if (recent.time_ns > RECENT_NS)
        forget_half();
}

void account_charge_rest(uint64_t ns)
{
    __atomic_fetch_add(&rest_ns, ns, __ATOMIC_RELAXED);
}

void account_charge_start(uint64_t ns)
{
    __atomic_store_n(&start_ns, ns, __ATOMIC_RELAXED);
}

void account_update(void)
{
    uint64_t now_ns = monotonic_ns();
    if (now_ns < __atomic_load_n(&due_ns, __ATOMIC_RELAXED) ||
        __atomic_exchange_n(&is_updating, true, __ATOMIC_ACQUIRE))
        return;
    __atomic_store_n(&due_ns, now_ns + PERIOD_NS, __ATOMIC_RELAXED);
    update(now_ns);
    __atomic_store_n(&is_updating, false, __ATOMIC_RELEASE);
}

void account_charge(enum account_part part, uint64_t ns)
{
    __atomic_fetch_add(&spent[part], ns, __ATOMIC_RELAXED);
    account_update();
}

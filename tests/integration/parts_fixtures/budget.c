/* The account of the recording, on simulated clocks. Arguments: updates, 10 ms of the program's CPU time apart; then
 * what the interval thread, ticks and the events of two extensions cost in each without thinning, in microseconds; from
 * which update on the first extension has events, and until which; what the interval thread's samples of waits cost;
 * what the signals of each update cost, and what the start did, which is no part of what is printed.
 * Prints the share of the program's CPU time that the recording took, in millionths, then the thinning of ticks, of
 * both extensions and of waits. */
#include <stdio.h>
#include <stdlib.h>

#include "sys.h"

static uint64_t wall_ns = 1000000000u, cpu_ns, thread_ns;

static uint64_t fake_clock(long clock)
{
    return clock == CLOCK_PROCESS_CPUTIME_ID ? cpu_ns : wall_ns;
}

#define sys_clock_ns fake_clock
#define monotonic_ns() wall_ns
#include "account.c"

static uint64_t charge(enum account_part part, uint64_t us)
{
    uint64_t ns = us * 1000 * ACCOUNT_ALL / account_thinning(part);
    account_charge(part, ns);
    return ns;
}

int main(int count, char **words)
{
    const struct config config = {.budget = 2000000000u};
    uint64_t value[10] = {0}, own_ns = 0;
    for (int i = 1; i < count && i < 11; i++)
        value[i - 1] = strtoull(words[i], NULL, 10);
    account_begin(&config);
    account_charge_start(value[9] * 1000);
    for (uint64_t step = 0; step < value[0]; step++) {
        uint64_t spent_ns = value[1] * 1000;
        thread_ns += spent_ns;
        spent_ns += charge(ACCOUNT_TICKS, value[2]);
        account_charge_rest(value[8] * 1000);
        spent_ns += value[8] * 1000;
        if (step >= value[5] && step < value[6])
            spent_ns += charge(ACCOUNT_EVENTS, value[3]);
        spent_ns += charge(ACCOUNT_EVENTS + 1, value[4]);
        uint64_t waits_ns = charge(ACCOUNT_WAITS, value[7]);
        thread_ns += waits_ns;
        spent_ns += waits_ns;
        own_ns += spent_ns;
        cpu_ns += 10000000 + spent_ns;
        wall_ns += 10000000 + spent_ns;
        account_set_worker(thread_ns);
        account_update();
    }
    printf("%llu %u %u %u %u\n", (unsigned long long)(own_ns * 1000000 / (cpu_ns - own_ns)),
           account_thinning(ACCOUNT_TICKS), account_thinning(ACCOUNT_EVENTS), account_thinning(ACCOUNT_EVENTS + 1),
           account_thinning(ACCOUNT_WAITS));
    return 0;
}

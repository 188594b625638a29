/* What the environment asks for (docs/record.md lists the variables). */
#ifndef INCPROF_CONFIG_H
#define INCPROF_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

enum clock_source { CLOCK_CPU, CLOCK_PERF };
enum output_format { FORMAT_STREAM, FORMAT_GMON };
enum gathering { GATHER_RANK, GATHER_NODE }; /* one file for each */

struct config {
    const char *directory; /* INCPROF_DIR, or NULL for the default name */
    const char *ranks;     /* INCPROF_RANKS, a list such as 0,8-15,every:64,per-node:1, or NULL for all */
    const char *exe;       /* INCPROF_EXE, a glob for the program's name or path, or NULL */
    const char *launch;    /* INCPROF_LAUNCH, of a job all of which is recorded: IDENTITY+NANOSECONDS, or NULL */
    uint64_t interval_ns;
    uint64_t rate_hz;
    uint64_t overhead; /* INCPROF_OVERHEAD: the part of the CPU time for making ticks, in billionths of a percent */
    uint64_t call_ps;  /* what counting a call costs here, in picoseconds; 0: not known (measured at the start) */
    int rank;          /* INCPROF_RANK, or -1 */
    enum clock_source clock;
    bool clock_given; /* by INCPROF_CLOCK; else the rate may change it (rate_choose) */
    enum output_format format;
    enum gathering gather;
    bool charge_libraries; /* gmon format: library time is part of its caller's */
    bool follow;           /* forked children are recorded */
    bool disabled;
};

/* Reads the environment. A bad value costs one line that names it, and its default is used.
 * Not thread-safe (getenv); called once, before main. */
void config_read(struct config *config);

/* Whether a rank is in such a list (NULL: every rank is): by its number, and by which it is of its node's, from 0. One
 * of which that is not known (-1) is among the first of its node. Pure. */
bool config_has_rank(const char *list, int rank, int local);

#endif

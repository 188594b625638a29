/* Settings from the environment (docs/use/record.md lists the variables). */
#ifndef INCPROF_CONFIG_H
#define INCPROF_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

enum clock_source { CLOCK_CPU, CLOCK_PERF };
enum output_format { FORMAT_STREAM, FORMAT_GMON };
enum gathering { GATHER_RANK, GATHER_NODE }; /* one file per rank, or per node */

struct config {
    const char *directory; /* INCPROF_DIR, or NULL for the default name */
    const char *ranks;     /* INCPROF_RANKS, a list such as 0,8-15,every:64,per-node:1, or NULL for all */
    const char *exe;       /* INCPROF_EXE, a glob for the program's name or path, or NULL */
    const char *launch;    /* INCPROF_LAUNCH, IDENTITY+NANOSECONDS of a job that is recorded as a whole, or NULL */
    uint64_t interval_ns;
    uint64_t rate_hz;
    uint64_t waits_hz; /* INCPROF_WAITS: samples of waiting threads per second; 0: none */
    uint64_t overhead; /* INCPROF_OVERHEAD: limit of the CPU time for ticks, in billionths of a percent */
    uint64_t budget;   /* the same for the whole recording (account.h) */
    uint64_t call_ps;  /* cost of counting a call, in picoseconds; 0: unknown (measured at the start) */
    int rank;          /* INCPROF_RANK, or -1 */
    enum clock_source clock;
    bool rate_given;  /* by INCPROF_RATE; otherwise rate_choose may lower it without a word */
    bool clock_given; /* by INCPROF_CLOCK; otherwise rate_choose may change it */
    enum output_format format;
    enum gathering gather;
    bool charge_libraries; /* gmon format: library time is charged to its caller */
    bool counters;         /* INCPROF_COUNTERS: hardware events are counted */
    bool lack_is_reported; /* INCPROF_LACK_REPORTED: `record` has reported that there are none, for all of a job */
    bool gpu;              /* INCPROF_GPU: activity of GPUs is recorded, by libraries that their drivers load */
    bool follow;           /* forked children are recorded */
    bool disabled;
};

/* Read the environment. An invalid value prints one line that names it, and the default is used. Not thread-safe
 * (getenv); called once, before main. */
void config_read(struct config *config);

/* Return whether a rank is in an INCPROF_RANKS list (NULL: every rank is), by its rank and its node-local rank from 0.
 * If the local rank is unknown (-1), the rank counts as one of the first of its node. Pure. */
bool config_has_rank(const char *list, int rank, int local);

/* Programs that only start or display others: a pattern such as * does not match them. */

/* Return whether a program is one of them, by its file name. Pure. */
bool starter_is(const char *name);

#endif

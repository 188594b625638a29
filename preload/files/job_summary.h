/* What the processes of a job have left in its run directory, for the line with which the job ends. */
#ifndef INCPROF_JOB_SUMMARY_H
#define INCPROF_JOB_SUMMARY_H

#include <stdint.h>

struct job_share {
    uint64_t processes;
    uint64_t cpu_ns; /* of those whose recording has ended */
};

struct job_summary {
    char program[64];         /* with the most CPU time */
    struct job_share leading; /* its processes */
    struct job_share others;
    uint64_t open; /* of all these, those whose recording has not ended: they still run, or were killed */
};

/* Reads the beginning and the end of each recording in the directory, but of no more than some thousand and for no
 * longer than a fifth of a second. Async-signal-safe. */
void job_summary_read(struct job_summary *summary, const char *directory);

#endif

/* The closing line of a recording, for the user of `incprof record`: the number of intervals, their location, and the
 * next command to type. It is printed once per started program: not by forked children, not by programs that a recorded
 * one starts, and among the ranks of a launch only by the lowest. */
#ifndef INCPROF_CLOSING_LINE_H
#define INCPROF_CLOSING_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "gpu_use.h"
#include "launch.h"

/* Return whether the line is wanted and this process prints it. Programs that it starts then do not print it. Not
 * thread-safe (getenv, and writes to the value); called once, before main. */
bool closing_line_take(void);

/* Prepare the line, after closing_line_take, once the run directory is determined. Before main. */
void closing_line_prepare(const struct config *config, const struct launch *launch);

#define CLOSING_LINE_VARIABLE "INCPROF_CLOSING_LINE"

/* Return whether this process prints the line, and the calling thread is its first, which has the necessary stack: 24
 * KiB. Async-signal-safe and thread-safe. */
bool closing_line_is_due(void);

/* Report, before an exec of a program that cannot print the line, the program, the reason and the location of the
 * existing data. Async-signal-safe; only where the line is due. */
void closing_line_report_obstacle(const char *program, const char *obstacle);

struct closing {
    uint64_t intervals;                /* of this process */
    uint64_t cpu_begin_ns, cpu_end_ns; /* the process's CPU clock at the begin and the end of its recording */
    uint64_t own_ns;                   /* the part of this time that the recording took; 0: not to be shown */
    enum gpu_use gpu;
};

/* Print the line; for a job it includes the other processes' data in the run directory. Async-signal-safe. */
void closing_line_write(const struct closing *closing);

/* Summary of the processes' data in a job's run directory, for the job's closing line. */
struct job_share {
    uint64_t processes;
    uint64_t cpu_ns; /* of those whose recording has ended */
};

struct job_summary {
    char program[64];         /* with the most CPU time; in a job that waits, one that lasts */
    struct job_share leading; /* its processes */
    struct job_share others;
    /* Of the recordings of the printing process's rank; if a launcher started the job, they are all of it: */
    uint64_t recorded_ns;
    uint64_t open; /* recordings without an end: their processes still run, or were killed */
    enum gpu_use gpu;
    bool is_partial; /* there are too many recordings to read all */
};

/* Read the beginning and the end of each recording in the directory, up to some thousand recordings and a fifth of a
 * second. `rank`: of the printing process, or negative: all recordings are of its job. Async-signal-safe. */
void job_summary_read(struct job_summary *summary, const char *directory, int rank);

/* The CPU time of the processes started by this one. */

/* Return the CPU time in nanoseconds of its children with their descendants, both those that it has waited for and the
 * others: a container's first process, a pool's server. Processes that have left the process tree (daemons) are not
 * included. Async-signal-safe. */
uint64_t job_time_ns(void);

/* Programs that a process executes where the library cannot follow. */

/* Print one line, before an exec by the process that prints the closing line, if the new program cannot print it
 * because it is static, setuid, or has another environment. `file` is a path, or a name that is looked up in PATH.
 * Async-signal-safe and thread-safe; does nothing in any other process. */
void exec_target_report(const char *file, char *const envp[]);

#endif

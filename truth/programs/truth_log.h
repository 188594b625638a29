/* The log of a program's true phases, to the file that TRUTH_LOG names; without it, nothing. The contract: README.md.
 *
 *     truth_phase("assemble");   the phase from here on; ends the one before
 *     truth_end();               no phase from here on
 *     truth_rank(rank);          right after MPI_Init: the file gets the suffix .RANK
 *
 * One thread of a process logs: the one that drives the others. Names are string literals. Lines are kept in memory and
 * written when the program exits; a change of phase costs one clock read. None of this is seen by -pg. */
#ifndef TRUTH_LOG_H
#define TRUTH_LOG_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TRUTH_UNSEEN static inline __attribute__((no_instrument_function, unused))

/* The first argument: how long the run takes, 1 being the default. */
TRUTH_UNSEEN double scale_argument(int argc, char **argv)
{
    return argc > 1 ? atof(argv[1]) : 1.0;
}

/* For functions that have to be there under their own name: sites, and what would otherwise vanish into one. */
#define KEPT __attribute__((noinline, noclone))

enum { TRUTH_LINES = 4096 };

static struct {
    const char *path, *open; /* open: the name of the phase that runs, or NULL */
    int rank, count;
    double begin_s;
    struct {
        double begin_s, end_s;
        const char *name;
    } line[TRUTH_LINES];
} truth_ = {NULL, NULL, -1, -1, 0, {}}; /* count -1: not started */

TRUTH_UNSEEN double truth_now_(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The file starts anew with the first lines, and grows by the following ones. */
TRUTH_UNSEEN void truth_flush_(void)
{
    static int written;
    char path[4096];
    if (truth_.rank >= 0)
        snprintf(path, sizeof path, "%s.%d", truth_.path, truth_.rank);
    else
        snprintf(path, sizeof path, "%s", truth_.path);
    FILE *file = fopen(path, written++ ? "a" : "w");
    if (!file) {
        perror(path);
        return;
    }
    for (int i = 0; i < truth_.count; i++)
        fprintf(file, "%.9f %.9f %s\n", truth_.line[i].begin_s, truth_.line[i].end_s, truth_.line[i].name);
    fclose(file);
    truth_.count = 0;
}

TRUTH_UNSEEN void truth_change_(const char *next)
{
    double now = truth_.path ? truth_now_() : 0;
    if (truth_.path && truth_.open) {
        if (truth_.count == TRUTH_LINES)
            truth_flush_();
        truth_.line[truth_.count].begin_s = truth_.begin_s;
        truth_.line[truth_.count].end_s = now;
        truth_.line[truth_.count++].name = truth_.open;
    }
    truth_.open = next;
    truth_.begin_s = now;
}

TRUTH_UNSEEN void truth_end(void)
{
    if (truth_.open)
        truth_change_(NULL);
}

TRUTH_UNSEEN void truth_exit_(void)
{
    truth_end();
    truth_flush_();
}

TRUTH_UNSEEN void truth_phase(const char *name)
{
    if (truth_.count < 0) {
        truth_.count = 0;
        truth_.path = getenv("TRUTH_LOG");
        if (truth_.path)
            atexit(truth_exit_);
    }
    truth_change_(name);
}

TRUTH_UNSEEN void truth_rank(int rank)
{
    truth_.rank = rank;
}

#endif

/* Which process of which launch this is, and the run directory that its launch owns. */
#ifndef INCPROF_LAUNCH_H
#define INCPROF_LAUNCH_H

#include <limits.h>
#include <stdbool.h>

#include "config.h"

struct launch {
    int rank;                 /* 0 without a launcher */
    int ranks;                /* -1 when unknown */
    char identity[256];       /* the same in every process of a launch, different in every launch */
    char exe[PATH_MAX];       /* absolute path of the program */
    char cwd[PATH_MAX];       /* at the start, or empty */
    char directory[PATH_MAX]; /* absolute path of the run directory */
};

/* Rank, number of ranks, identity and program, from the environment and /proc. No MPI call is made.
 * Not thread-safe (getenv); called once, before main. */
bool launch_identify(struct launch *launch, const struct config *config);

/* Creates or joins the run directory of this launch: DIR, or DIR.1, DIR.2, ... where another launch owns it.
 * False after one line on stderr. */
bool launch_claim_directory(struct launch *launch, const struct config *config);

/* The last component of a path. Pure. */
const char *launch_basename(const char *path);

#endif

/* Which process of which launch this is, and the run directory that its launch owns. */
#ifndef RUNTIME_LAUNCH_H
#define RUNTIME_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sys.h"

struct launch {
    pid_t pid;                /* of a process that is looked at from outside, or 0: this one */
    int rank;                 /* 0 without a launcher */
    int ranks;                /* -1 when unknown */
    int local;                /* which of the ranks on its node, from 0; -1 when unknown */
    char identity[256];       /* the same in every process of a launch, different in every launch */
    const char *job;          /* the same in all launches that share a run directory, or NULL: each has its own */
    char exe[PATH_MAX];       /* absolute path of the program */
    char cwd[PATH_MAX];       /* at the start, or empty */
    char directory[PATH_MAX]; /* absolute path of the run directory */
    bool is_numbered;         /* it is DIR.N, as another launch has DIR */
};

/* Rank (the launcher's where `rank` is negative), number of ranks, identity and program, from the environment and
 * /proc. No MPI call is made. False after one line on stderr. Not thread-safe (getenv); called once, before main. */
bool launch_identify(struct launch *launch, int rank);

/* The absolute path of the run directory that is wanted: `given`, or <prefix>-<app>[-<job>] here without one (the
 * program may change its directory later). False after one line on stderr. Not thread-safe (getenv). */
bool launch_name_directory(const struct launch *launch, const char *given, const char *prefix, char *path, size_t size);

/* Creates or joins the run directory of this launch: DIR as above, or DIR.1, DIR.2, ... where another launch owns it.
 * The ranks of a launch that start at about the same time meet, unless some 256 other launches come between them. False
 * after one line on stderr. Not thread-safe; called once. */
bool launch_claim_directory(struct launch *launch, const char *given, const char *prefix);

/* The process that this is about. Async-signal-safe. */
static inline pid_t launch_pid(const struct launch *launch)
{
    return launch->pid != 0 ? launch->pid : (pid_t)SYS0(SYS_getpid);
}

/* The last component of a path. Pure. */
const char *launch_basename(const char *path);

/* Whether a glob is true of this process's program, which is at `exe`: of its path, its name, or the name by which it
 * was called. Thread-safe. */
bool launch_is_program(const char *glob, const char *exe);

#endif

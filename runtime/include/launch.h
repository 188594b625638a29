/* The identity of this process and its launch, and the run directory that the launch owns. */
#ifndef RUNTIME_LAUNCH_H
#define RUNTIME_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"
#include "sys.h"

struct launch {
    pid_t pid;                /* of a process sampled from outside, or 0: this one */
    int rank;                 /* 0 without a launcher */
    int ranks;                /* -1 when unknown */
    int local;                /* node-local rank from 0; -1 when unknown */
    char identity[256];       /* the same in every process of a launch, different in every launch */
    const char *job;          /* the same in all launches that share a run directory; NULL: not shared */
    char exe[PATH_MAX];       /* absolute path of the program */
    char app[NAME_MAX + 1];   /* its name (program_name) */
    char cwd[PATH_MAX];       /* at the start, or empty */
    char directory[PATH_MAX]; /* absolute path of the run directory */
    bool is_numbered;         /* it is DIR.N, because another launch owns DIR */
};

/* Determine rank (the launcher's if `rank` is negative), number of ranks, identity and program, from the environment
 * and /proc, without MPI calls. False after one line on stderr. Not thread-safe (getenv); called once, before main. */
bool launch_identify(struct launch *launch, int rank);

/* Set `app` of a launch with `exe` and `pid`. Not thread-safe. */
void launch_name_program(struct launch *launch);

/* Write the absolute path of the requested run directory: `given`, or else <prefix>-<app>[-<job>] in the current
 * directory (which the program may change later). False after one line on stderr. Not thread-safe (getenv). */
bool launch_name_directory(const struct launch *launch, const char *given, const char *prefix, char *path, size_t size);

/* Create or join the run directory of this launch: DIR as above, or DIR.1, DIR.2, ... if another launch owns it. Ranks
 * of a launch that start at about the same time find the same one, unless some 256 other launches come in between.
 * False after one line on stderr. Not thread-safe; called once. */
bool launch_claim_directory(struct launch *launch, const char *given, const char *prefix);

/* Return the pid of the launch's process. Async-signal-safe. */
static inline pid_t launch_pid(const struct launch *launch)
{
    return launch->pid != 0 ? launch->pid : (pid_t)SYS0(SYS_getpid);
}

/* Return the last component of a path. Pure. */
const char *launch_basename(const char *path);

/* Return whether a glob matches this process's program, at `exe`: its path, its name, or the name by which it was
 * started. Thread-safe. */
bool launch_is_program(const char *glob, const char *exe);

/* Description of a process in a file's metadata: the process that writes the file, or another one. */

/* Properties of a process, or of this one if `pid` is 0. Async-signal-safe. */
size_t process_words(pid_t pid, char *words, size_t size); /* its arguments, each with a zero byte behind it */
bool process_runs(pid_t pid, const char *exe);             /* whether `exe` is its program; not thread-safe */
pid_t process_parent(pid_t pid);                           /* 0 if unknown */

/* Append program, arguments, directory, pid, rank, launch and start as members of a JSON object that is open in `out`.
 * `start_ns`: CLOCK_MONOTONIC. Async-signal-safe. */
void process_json(struct buffer *out, const struct launch *launch, uint64_t start_ns, bool forked);

/* The ancestors of this process. */

/* Return the nearest ancestor that was not started as a rank, that is, without a variable of this name: the process
 * that has started this node's ranks, even with others in between (a shell, a measurement tool). If an ancestor's
 * environment cannot be read, that ancestor. Thread-safe. */
pid_t ancestor_without(const char *variable);

/* The name of a program: that of its file as started (redis-server, a link to redis-check-rdb), or of the script that
 * an interpreter runs. incprof/symbols/elf/preflight.py is the same for `incprof record`, which names a run
 * directory before the program starts. */

/* Write the name of the program at `exe`. `words`: its arguments, each with a zero byte behind it, of `bytes` bytes in
 * all. The program may have overwritten them, its name first (nginx: master process). `name` is truncated to `size`.
 * Pure. */
void program_name(char *name, size_t size, const char *exe, const char *words, size_t bytes);

/* Return whether the arguments are those with which Python restarts itself for a pool: as a worker, or as the process
 * that starts the workers. Pure. */
bool program_serves_pool(const char *words, size_t bytes);

#endif

/* Creation of a thread unknown to libc, and to a sanitizer in the program: the thread runs none of the sanitizer's
 * code, and no libc function that it may replace (string.h, sys.h). Where each thread must be registered (in a library
 * compiled with a sanitizer, under Valgrind and emulators) it is a libc thread. */
#ifndef RUNTIME_SPAWN_H
#define RUNTIME_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"

struct spawned {
    pid_t tid;      /* 0 before it has started; atomic */
    uint8_t *stack; /* NULL for a libc thread */
};

/* Run `enter` in a thread with its own descriptor table, working directory, root and umask. The thread ends with its
 * return value, which is the process's exit code if it is the last thread. False if it cannot be created. Not
 * thread-safe. */
bool spawn(struct spawned *spawned, int (*enter)(void *));

/* The same for a thread that shares those of the calling one, which was created by `spawn`; not where each thread must
 * be registered. */
bool spawn_sharing_files(struct spawned *spawned, int (*enter)(void *));

/* Return whether execution is slower by an order of magnitude or more: under Valgrind. */
bool spawn_is_slow(void);

/* Return the thread's id, or 0. Thread-safe. */
pid_t spawn_tid(const struct spawned *spawned);

/* Forget the thread, in a forked child. */
void spawn_forget(struct spawned *spawned);

/* Checks of the application for changes without libc: whether it has ended, or changed its user. For the interval
 * thread alone, except the first function. */

/* Prepare the checks, before the thread is created. */
void application_start(void);

/* Return the time of the next check, on CLOCK_MONOTONIC. */
uint64_t application_due_ns(void);

/* Check the application if due, or `at_once`, and adopt its user; call it at every wake-up of the thread. False if the
 * recording has to end: no thread of the application is left, or, after one line on stderr, this thread cannot become
 * the application's user. */
bool application_continues(bool at_once);

/* Return this thread's exit code, so that the process ends as without it if it is the last thread. May end the process
 * by a signal. */
int application_exit_code(void);

/* Return, after that, whether no thread of the application was left. */
bool application_is_alone(void);

/* Users, groups and capabilities are per thread. libc changes those of all its threads together; the interval thread
 * follows by itself. */
enum credentials { CREDENTIALS_SAME, CREDENTIALS_CHANGED, CREDENTIALS_REFUSED };

/* Set the calling thread's real, effective and saved users and groups, its supplementary groups, and its permitted,
 * effective and inheritable capabilities to those in `status`, the text of another thread's /proc/<..>/status, where
 * they differ. REFUSED if that fails, or if the calling thread has more rights than the other. `own`: the calling
 * thread's status of the previous call; empty before the first. For threads unknown to libc. */
enum credentials credentials_follow(struct buffer *own, const char *status);

#endif

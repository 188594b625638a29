/* Makes a thread that libc does not know. Nor does a sanitizer in the program: the thread runs none of its code, and
 * nothing of libc that it could have put its own in the place of (string.h, vdso.h). Where each thread must be known,
 * in a library that is itself compiled with a sanitizer, under Valgrind and emulators, it is one of libc's. */
#ifndef RUNTIME_SPAWN_H
#define RUNTIME_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct spawned {
    pid_t tid;      /* 0 before it has started; atomic */
    uint8_t *stack; /* not there for a thread of libc's */
};

/* Runs `enter` in a thread with a table of descriptors, a working directory, a root and a umask of its own, which ends
 * with what it returns: the process's exit code, if it is its last thread. False if there can be none. Not thread-safe.
 */
bool spawn(struct spawned *spawned, int (*enter)(void *));

/* The same for a thread that has those of the calling one, which has been made by `spawn`; not where each thread must
 * be known. */
bool spawn_beside(struct spawned *spawned, int (*enter)(void *));

/* Whether everything takes some dozen times as long as elsewhere: under Valgrind. */
bool spawn_is_slow(void);

/* The thread's number, or 0. Thread-safe. */
pid_t spawn_tid(const struct spawned *spawned);

/* In a forked child: there is no such thread here. */
void spawn_forget(struct spawned *spawned);

#endif

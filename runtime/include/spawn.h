/* Makes a thread that libc does not know. Nor does a sanitizer in the program: the thread runs none of its code, and
 * nothing of libc that it could have put its own in the place of (string.h, vdso.h). Where each thread must be known,
 * in a library that is itself compiled with a sanitizer, under Valgrind and emulators, it is one of libc's. */
#ifndef RUNTIME_SPAWN_H
#define RUNTIME_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* Runs `enter` in a thread with a table of descriptors, a working directory, a root and a umask of its own, which ends
 * with what it returns: the process's exit code, if it is its last thread. False if there can be none. Not thread-safe.
 */
bool spawn(int (*enter)(void *));

/* Whether everything takes some dozen times as long as elsewhere: under Valgrind. */
bool spawn_is_slow(void);

/* The thread's, or 0 before it has started. */
pid_t spawn_tid(void);

/* In a forked child: there is no such thread here. */
void spawn_forget(void);

#endif

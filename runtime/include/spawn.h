/* Makes a thread that libc does not know. Under sanitizers, Valgrind and emulators, which must know each thread, it is
 * one of libc's. */
#ifndef RUNTIME_SPAWN_H
#define RUNTIME_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* Runs `enter` in a thread with a table of descriptors, a working directory, a root and a umask of its own. False if
 * there can be none. Not thread-safe. */
bool spawn(int (*enter)(void *));

/* The thread's, or 0 before it has started. */
pid_t spawn_tid(void);

/* In a forked child: there is no such thread here. */
void spawn_forget(void);

#endif

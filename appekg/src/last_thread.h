/* The end of a process whose main thread has called pthread_exit: libc ends it with its last thread. Threads that libc
 * knows and that are the library's own, or LDMS's, must not keep it alive: a guard looks for it, and does what libc
 * does, once no other thread is left. */
#ifndef EKG_LAST_THREAD_H
#define EKG_LAST_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* How a thread was before it was marked. */
struct last_thread_marked {
    uint64_t mask;
    long io_priority;
};

/* Marks the calling thread and those that it makes, and theirs: all signals are blocked, and reads and writes wait for
 * everybody else's. Both are inherited; what a program does with threads of its own is hardly ever both. */
struct last_thread_marked last_thread_mark(void);
void last_thread_unmark(struct last_thread_marked before);

/* Starts the guard, in a marked thread. False when there can be no thread. */
bool last_thread_guard(void);

#endif

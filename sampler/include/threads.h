/* Threads of the processes that are followed: which of them run now, and where. One thread at a time; no allocation. */
#ifndef SAMPLER_THREADS_H
#define SAMPLER_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Goes through the numbers in a directory of /proc: 0 at the end, negative errno on failure. */
struct tids {
    int fd;
    long filled, at;
    char entries[4096] __attribute__((aligned(8)));
};

pid_t tids_first(struct tids *tids);
pid_t tids_next(struct tids *tids);

/* Follows a thread, of which `task` is the process's directory, if it is not yet. False if there are too many. */
bool threads_enter(pid_t process, int task, pid_t tid);

/* Follows none of a process any more. */
void threads_forget(pid_t process);

/* How many threads run or wait to, and on how many processors. Those that have ended are not followed any more. */
void threads_read(double *running, double *processors);

#endif

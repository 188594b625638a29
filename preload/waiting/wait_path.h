/* The call path of a blocked thread, unwound from outside it.
 *
 * Only its stack pointer and instruction are known. Its stack is copied by the kernel, because the thread may go on or
 * end meanwhile; the caller checks afterwards that it has not run. For the interval thread, under the collector's lock.
 */
#ifndef INCPROF_WAIT_PATH_H
#define INCPROF_WAIT_PATH_H

#include <stdbool.h>

#include "interval.h"
#include "task_times.h"

/* A path, before it has a node. */
struct wait_path {
    struct sample frames; /* the application's: frames and flags only */
    struct wait_site site;
    bool is_ours; /* the thread is blocked in this library */
};

/* Unwind the thread. */
void wait_path_walk(const struct task_call *call, struct wait_path *path);

/* Add the path to the interval's, and complete its site. */
void wait_path_add(struct interval *interval, struct wait_path *path);

#endif

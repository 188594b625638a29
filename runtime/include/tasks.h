/* The threads of this process in /proc. For threads that are not the application's, with their own descriptor table.
 * Async-signal-safe. */
#ifndef RUNTIME_TASKS_H
#define RUNTIME_TASKS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"

/* Read /proc/<path> into `text`, with a NUL behind it: "self/status" is that of the first thread. False if nothing can
 * be read. */
bool task_read(const char *path, struct buffer *text);

/* Return the text behind a word such as "Uid:" at the beginning of a line; "" if there is no such line. Pure. */
const char *task_field(const char *status, const char *word);

/* Return whether the thread is a zombie, as the first thread is after its end while the process has others. Pure. */
bool task_has_ended(const char *status);

/* The signals that libc lets a thread block. It needs the others itself: setuid in any thread waits until all threads
 * have handled one. */
#define TASK_SIGNAL(number) ((uint64_t)1 << ((number) - 1))
#define TASK_BLOCKED (~(TASK_SIGNAL(SIGKILL) | TASK_SIGNAL(SIGSTOP) | TASK_SIGNAL(32) | TASK_SIGNAL(33)))

/* Return whether the thread blocks all of these. Pure. */
bool task_blocks_all(const char *status);

/* Return whether it is an interval thread, of this library or of another of incprof's. Pure. */
bool task_is_worker(const char *status);

/* Find a thread, other than the first, for which `is_ours` is false, and leave its status in `text`. Returns 1 if there
 * is one, 0 if there is none, -1 if that cannot be determined. */
int task_find(bool (*is_ours)(const char *tid, const char *status), struct buffer *text);

/* Return the first thread's wait(2) status; 0 if it has not ended, or if the status is not available. */
int task_first_exit_code(struct buffer *text);

#endif

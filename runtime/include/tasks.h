/* The threads of this process, as the kernel shows them in /proc. For threads that are none of the application's; they
 * need a table of descriptors of their own. Async-signal-safe. */
#ifndef RUNTIME_TASKS_H
#define RUNTIME_TASKS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"

/* Reads /proc/<path> into `text`, with a NUL behind it: "self/status" is that of the first thread. False where nothing
 * can be read. */
bool task_read(const char *path, struct buffer *text);

/* What is behind a word such as "Uid:" at the beginning of one of its lines; "" where there is no such line. Pure. */
const char *task_field(const char *status, const char *word);

/* Whether only the number is left of the thread: of the first one, as long as the process has others. Pure. */
bool task_has_ended(const char *status);

/* What libc lets a thread block. It needs the others itself: setuid in any thread waits until all have taken one. */
#define TASK_SIGNAL(number) ((uint64_t)1 << ((number) - 1))
#define TASK_BLOCKED (~(TASK_SIGNAL(SIGKILL) | TASK_SIGNAL(SIGSTOP) | TASK_SIGNAL(32) | TASK_SIGNAL(33)))

/* Whether it blocks all of these. Pure. */
bool task_blocks_all(const char *status);

/* Whether it is an interval thread, of this library or of another of incprof's. Pure. */
bool task_is_worker(const char *status);

/* Looks for a thread of which `is_ours` is false, except for the first one, and leaves its status in `text`. 1 if there
 * is one, 0 if there is none, -1 if that cannot be told. */
int task_find(bool (*is_ours)(const char *tid, const char *status), struct buffer *text);

/* How the first thread has ended, as wait(2) would say; 0 if it has not, or if that cannot be told. */
int task_first_exit_code(struct buffer *text);

#endif

/* The interval thread's frame: a thread that libc does not know, with files of its own, that serves requests.
 *
 * It is made by clone, so that libc goes on as for a program without it (and ends the process when the application's
 * last thread ends). It shares neither the table of descriptors nor the working directory, root and umask with the
 * application: a program that closes every descriptor, counts on the lowest number being free, waits for the end of a
 * pipe, or changes its root, meets nothing of ours and takes nothing from us. All signals are blocked in it. It has
 * an empty thread block, not libc's: what libc keeps per thread is not to be used, errno least of all.
 *
 * Twice a second it looks what has become of the application. Where its threads have all ended behind
 * libc's back, the recording ends, and the process with it, as they have left it. Where they have become another user,
 * so does this thread, before it opens another file.
 */
#ifndef RUNTIME_WORKER_H
#define RUNTIME_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How long the application waits for the thread, at most. */
#define LONGEST_WAIT_NS 2000000000u

/* Starts the thread, which the kernel shows as `name`, and waits until it has files of its own. False if there can be
 * none. Not thread-safe. */
bool worker_start(const char *name, void (*run)(void));

/* This descriptor of the application's, at least 3, is not closed in the thread that is started next; -1: none is. */
void worker_keep_file(int fd);

/* Once `run` returns: waits until the kernel knows the thread no more, for so long at most. Whether it has gone, and
 * the writer with it. */
bool worker_is_gone(uint64_t longest_ns);

/* In a forked child, or after worker_is_gone: there is no such thread here. */
void worker_forget(void);

/* Asks for something (not 0) and waits until it is done, for so long at most (under Valgrind thirty times as long).
 * False if it was not done, or if the thread has ended. Async-signal-safe and thread-safe. */
bool worker_ask(uint32_t request, uint64_t longest_ns);

/* Asks for something that may be forgotten: nothing when there is another request. Never waits. Async-signal-safe and
 * thread-safe. */
void worker_nudge(uint32_t request);

/* The application's threads have another user, other groups or capabilities from here on: the thread takes them at
 * once, and the caller waits for it, for so long at most. Does nothing where there is no such thread, and in a vfork
 * child. Async-signal-safe and thread-safe. */
void worker_follow(uint64_t longest_ns);

/* Whether there is no such thread, or none any more, without a system call. Async-signal-safe and thread-safe. */
bool worker_has_ended(void);

pid_t worker_tid(void);

/* CPU time that the thread and the writer (writer.h) have taken, or 0 where there is none. Async-signal-safe and
 * thread-safe. */
uint64_t worker_cpu_ns(void);

/* What worker_wait says when nobody has asked, and the recording has to end all the same: `run` returns. Below it is
 * one that no caller of worker_ask may use either. */
#define WORKER_END UINT32_MAX

/* For the thread itself: waits for a request until `deadline_ns` on CLOCK_MONOTONIC; 0 when there is none. */
uint32_t worker_wait(uint64_t deadline_ns);

/* For the thread itself: the request is done. */
void worker_done(void);

#endif

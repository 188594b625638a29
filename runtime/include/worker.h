/* Framework of the interval thread: a thread unknown to libc, with its own descriptor table, that serves requests.
 *
 * It is created by clone, so that libc behaves as without it (and ends the process when the application's last thread
 * ends). It shares neither the descriptor table nor the working directory, root and umask with the application. A
 * program that closes every descriptor, relies on the lowest free number, waits for the end of a pipe, or changes its
 * root therefore does not affect the thread, nor the thread the program. All signals are blocked in it. It has an empty
 * thread block instead of libc's: libc's per-thread data, such as errno, must not be used.
 *
 * Twice a second it checks the application. If all its threads have ended without libc, the recording ends, and the
 * process with it, with the application's exit status. If they have changed their user, this thread changes its own
 * before it opens another file.
 */
#ifndef RUNTIME_WORKER_H
#define RUNTIME_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The longest time that the application waits for the thread. */
#ifndef LONGEST_WAIT_NS /* tests may not depend on how busy the machine is */
#define LONGEST_WAIT_NS 2000000000u
#endif

/* Start the thread, with `name` as its name in the kernel, and wait until it has its own descriptor table. False if it
 * cannot be created. Not thread-safe. */
bool worker_start(const char *name, void (*run)(void));

/* Keep this descriptor of the application, at least 3, open in the next thread that is started; -1: none. */
void worker_keep_file(int fd);

/* After `run` has returned: wait until the thread no longer exists in the kernel, for `longest_ns` at most. Returns
 * whether the thread and the writer have ended. */
bool worker_has_exited(uint64_t longest_ns);

/* Forget the thread, in a forked child or after worker_has_exited. */
void worker_forget(void);

/* Send a request (not 0) and wait until it is done, for `longest_ns` at most (under Valgrind thirty times as long).
 * False if it was not done, or if the thread has ended. Async-signal-safe and thread-safe. */
bool worker_request(uint32_t request, uint64_t longest_ns);

/* Send a request that may be lost: it is dropped during another request. Never waits. Async-signal-safe and
 * thread-safe. */
void worker_notify(uint32_t request);

/* Make the thread adopt the new user, groups and capabilities of the application's threads at once, and wait for that,
 * for `longest_ns` at most. Does nothing if there is no such thread, and in a vfork child. Async-signal-safe and
 * thread-safe. */
void worker_follow(uint64_t longest_ns);

/* Return whether the thread does not exist, or has ended, without a system call. Async-signal-safe and thread-safe. */
bool worker_has_ended(void);

pid_t worker_tid(void);

/* Return the CPU time of the thread and the writer (output.h), or 0 without them. Async-signal-safe and thread-safe. */
uint64_t worker_cpu_ns(void);

/* The result of worker_wait if the recording has to end without a request: `run` returns. The number below it is also
 * reserved: no caller of worker_request may use it. */
#define WORKER_END UINT32_MAX

/* For the thread itself: wait for a request until `deadline_ns` on CLOCK_MONOTONIC; 0 if there is none. */
uint32_t worker_wait(uint64_t deadline_ns);

/* For the thread itself: mark the request as done. */
void worker_done(void);

/* For the thread itself: call `write` with each request, and with 0 at `first_ns` and then every `interval_ns` (past
 * deadlines are skipped), until it returns false. */
void worker_write_regularly(uint64_t first_ns, uint64_t interval_ns, bool (*write)(uint32_t request));

#endif

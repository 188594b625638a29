/* The open interval: collecting the threads' data into it, and closing it.
 *
 * Everything here is for the holder of the collector's lock (below): the interval thread, or the start code of a
 * process or forked child before that thread exists.
 */
#ifndef INCPROF_COLLECTION_H
#define INCPROF_COLLECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "launch.h"
#include "recording.h"

/* Begin the recording of this process, and its first interval. `config` and `launch` must stay valid. */
void collection_begin(const struct config *config, struct launch *launch, bool forked, enum opening opening);

/* Return the start time of the recording, on CLOCK_MONOTONIC. */
uint64_t collection_start_ns(void);

/* Resume writing to the file, if an earlier thread has opened it. */
void collection_resume(void);

/* Open the file before there is an interval to write, because copying symbols takes a while. `is_start`: at the start,
 * or later, as the recording's enum opening requires. */
void collection_open_early(bool is_start);

/* Scan for newly loaded code, if requested, and copy its symbols. */
void collection_scan(void);

/* Empty the rings, and handle requests that have arrived meanwhile. */
void collection_drain(void);

/* Take samples of what threads wait for, if they are due (waits_sample). */
void collection_sample_waits(bool is_alone);

/* Drain, write the open interval and begin the next one. The recording stops if writing is no longer possible. */
void collection_close_interval(void);

/* Close the open interval at `from_ns`, and begin the next one at `until_ns`: the process was stopped in between. False
 * if samples show that it has run. */
bool collection_exclude(uint64_t from_ns, uint64_t until_ns);

/* Close the interval now, and end the recording. */
void collection_close(void);

/* Print the closing line after that, if this process is the one to print it. */
void collection_report(void);

/* The same at the end of the program for a recording that had to stop earlier: the program has used CPU time since. */
void collection_report_late(void);

/* Return whether there is neither a file nor data for one. */
bool collection_is_blank(void);

/* Scan newly loaded code, before some is unloaded, if there is data from it. */
void collection_look_up(void);

/* Handle unloaded code, which other code may replace. */
void collection_remap(void);

/* Start or stop counting samples and calls (moncontrol). */
void collection_pause(bool paused);

/* Release the resources of the interval thread, which is about to end and be replaced. */
void collection_park(void);

/* Return the file's descriptor in the interval thread's table, or -1; and set it for the next thread's table. */
int collection_file(void);
void collection_set_file(int fd);

/* In a forked child: discard all collected data. */
void collection_forget(void);

/* The lock under which the interval thread drains and writes. Other users, such as fork, hold up the application, so
 * they wait for a limited time: a file system that hangs must not hang the program, and delays it only once.
 *
 * Async-signal-safe and thread-safe. It is the first of the collector's locks: only those of the records (thread.c) are
 * taken under it.
 */

/* Return how long the application currently waits for the lock or for a request: 0 after it has waited in vain once. */
uint64_t collector_lock_patience_ns(void);

/* Record that a wait has timed out; valid until the lock is free again. */
void collector_lock_note_stall(void);

/* Take the lock; false if that takes longer than `longest_ns`. */
bool collector_lock_acquire(uint64_t longest_ns);
void collector_lock_release(void);

/* Return when the lock was last released. The caller holds it. */
uint64_t collector_lock_released_ns(void);

/* In a forked child: reset the lock, which no thread holds. */
void collector_lock_forget(void);

/* The interval thread: it closes each interval, drains the rings in between, and serves requests (switch.h). */

/* Start it, after collection_begin. False if it cannot be created. Not thread-safe. */
bool interval_thread_start(const struct config *config);

/* Resume writing intervals after the exec announced by REQUEST_EXEC has failed. Async-signal-safe and thread-safe. */
void interval_thread_resume(void);

/* Detection of suspensions: the whole process was stopped by a signal (SIGSTOP, Ctrl-Z), by a debugger or in a frozen
 * cgroup, or the machine slept. For the interval thread alone, whose descriptors are not the application's. */

/* Record how long this thread has waited for a processor so far; once per interval suffices. */
void suspension_note(void);

/* Return whether the process was stopped before `now_ns`, although this thread was to wake at `due_ns`, and until
 * when. */
bool suspension_before(uint64_t due_ns, uint64_t now_ns, uint64_t *until_ns);

/* Return how long the machine has slept since the last call (0 for the first one); CLOCK_MONOTONIC stops meanwhile. Any
 * thread that holds the collector's lock. */
uint64_t suspension_slept_ns(void);

#endif

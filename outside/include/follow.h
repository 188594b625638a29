/* The processes of a recording from outside: the target, the programs that it executes, and the processes that it
 * starts. One thread at a time; not async-signal-safe. */
#ifndef OUTSIDE_FOLLOW_H
#define OUTSIDE_FOLLOW_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config.h"
#include "launch.h"
#include "perf_rings.h"

/* `program`: the file of the program that is recorded, in any process, unless the settings name others. All three
 * pointers must stay valid. */
void follow_begin(const struct config *config, const struct launch *launch, const char *program, bool sees_kernel);

/* Add the process that is about to execute the target. False without memory. */
bool follow_child(pid_t pid);

/* Add a process that runs already, with the program at `path`: the first one is the target. False without memory. */
bool follow_running(pid_t pid, const char *path, uint64_t now_ns);

/* Add a thread that a process has already. */
void follow_thread(pid_t pid, pid_t tid, uint64_t now_ns);
bool follow_has_thread(pid_t tid);

/* Take a record of the kernel; records come in time order. */
void follow_record(const struct perf_event_header *record, uint64_t time_ns);

/* Return whether samples must be read at once: Python frames can only be read while they exist. */
bool follow_is_urgent(void);

/* End the intervals and recordings that are over at `now_ns`. */
void follow_tick(uint64_t now_ns);

/* Return the time of the next call of follow_tick. */
uint64_t follow_next_ns(void);

/* End them all. */
void follow_end(uint64_t now_ns);

/* Totals of all ended recordings. `intervals`: of the longest. */
struct follow_totals {
    uint64_t intervals, samples, lost, processes;
};
struct follow_totals follow_totals(void);

/* Running processes: all their threads and descendants. One thread at a time. */

/* Follow the recorded process, whose program is `exe`, and for whose first thread the events have been opened. Returns
 * 0 or negative errno. */
int running_follow(struct events *events, pid_t pid, const char *exe);

/* Then follow all its descendants. Prints a line for one that cannot be followed. */
void running_follow_descendants(struct events *events, pid_t pid);

#endif

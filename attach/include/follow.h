/* The processes of a recording from outside: the one that it is about, and what becomes of it and is started by it. One
 * thread at a time; not async-signal-safe. */
#ifndef ATTACH_FOLLOW_H
#define ATTACH_FOLLOW_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config.h"
#include "launch.h"

/* `program`: the file of the program that is recorded, wherever it runs, unless the settings name others. All three
 * stay where they are. */
void follow_begin(const struct config *config, const struct launch *launch, const char *program, bool sees_kernel);

/* The process that is about to become what the recording is about. False without memory. */
bool follow_child(pid_t pid);

/* One that runs already, whose program is `path`: the first is what the recording is about. False without memory. */
bool follow_running(pid_t pid, const char *path, uint64_t now_ns);

/* A thread that a process has already. */
void follow_thread(pid_t pid, pid_t tid, uint64_t now_ns);
bool follow_has_thread(pid_t tid);

/* What the kernel says, in the order of time. */
void follow_record(const struct perf_event_header *record, uint64_t time_ns);

/* Whether samples are wanted at once: what Python runs is only to be seen as long as it runs. */
bool follow_is_urgent(void);

/* After some of that: ends intervals and recordings that are over. */
void follow_tick(uint64_t now_ns);

/* When that is to be called next. */
uint64_t follow_next_ns(void);

/* Ends them all. */
void follow_end(uint64_t now_ns);

/* Of all recordings that have ended. `intervals`: of the longest. */
struct follow_totals {
    uint64_t intervals, samples, lost, processes;
};
struct follow_totals follow_totals(void);

#endif

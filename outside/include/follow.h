/* The processes of a recording from outside: the target, the programs that it executes, and the processes that it
 * starts. One thread at a time; not async-signal-safe. */
#ifndef OUTSIDE_FOLLOW_H
#define OUTSIDE_FOLLOW_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"
#include "config.h"
#include "interval.h"
#include "jit_names.h"
#include "launch.h"
#include "modules.h"
#include "perf_rings.h"
#include "python.h"
#include "recording.h"
#include "ring.h"
#include "unwind.h"
#include "wait_spans.h"

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

/* Totals of all ended recordings. `intervals`: of the longest. `unsampled`: of the ticks, those of threads that ended
 * before them. */
struct follow_totals {
    uint64_t intervals, samples, lost, processes, ticks, unsampled;
};
struct follow_totals follow_totals(void);

/* Running processes: all their threads and descendants. One thread at a time. */

/* Follow the recorded process, whose program is `exe`, and for whose first thread the events have been opened. Returns
 * 0 or negative errno. */
int running_follow(struct events *events, pid_t pid, const char *exe);

/* Then follow all its descendants. Prints a line for one that cannot be followed. */
void running_follow_descendants(struct events *events, pid_t pid);

/* A followed process, and its recording, if it is recorded. */

/* A process's executable mappings, as text in the format of /proc/PID/maps: lines in address order. */

struct mappings {
    struct buffer text;
    size_t read, added; /* number of lines read from the kernel, and added since */
};

struct mapped {
    uint64_t start, bytes, offset, inode;
    const char *path;
};

/* Read the current mappings; empty if they cannot be read. */
void mappings_read(struct mappings *mappings, pid_t pid);

/* Add a mapping of a process, replacing those that it overlaps. The kernel does not report unmapped ones, so all are
 * read again once their number has doubled. */
void mappings_add(struct mappings *mappings, const struct mapped *mapped, pid_t pid);

/* Copy the mappings; `to` must be empty. */
void mappings_copy(struct mappings *to, const struct mappings *from);

/* Remove all mappings. */
void mappings_forget(struct mappings *mappings);

struct followed {
    pid_t pid;
    char name[16]; /* its name in the kernel */
    bool is_recorded;
    bool awaits_program; /* has called exec: its first mapping identifies the new program */
    bool sees_kernel;    /* ticks inside the kernel are samples too */
    const struct config *config;
    struct launch launch;

    struct code code;
    struct mappings maps;
    bool maps_changed;
    struct unwind_cache cache;
    struct python_process python;
    struct python_thread *python_codes; /* shared by all its threads; NULL without Python */
    struct jit_names jit_names;

    struct recording recording;
    struct interval interval;
    struct wait_spans waits;        /* of the interval */
    struct blocked_process blocked; /* the same process, for the samples of its waiting threads */
    uint64_t grid_ns;               /* end of the open interval */
    uint64_t last_cpu_ns;           /* of the process, at the end of the last interval */
    uint64_t lived_ns;              /* time up to which its threads' time has been counted */
    uint32_t threads, next_thread;
    uint64_t stopped_ns;     /* time at which a signal or a debugger stopped it; 0: it runs */
    uint64_t suspended_ns;   /* how long it was stopped before the open interval */
    uint64_t ended_ns;       /* when the last thread ended; 0: threads are left */
    uint64_t ended;          /* threads that ended in the open interval */
    uint32_t last_ended;     /* number of the last of them */
    uint64_t cpu_ns, ticks;  /* of its recording so far */
    uint64_t unsampled;      /* of these ticks, those of threads that ended before them */
    uint64_t missing, usual; /* ticks not represented by a sample yet; samples of the last interval */
};

/* Select the process for all functions of code, memory, Python and JIT names; NULL: this process. */
void followed_use_code(struct followed *process);

/* Select the process, and scan its code if that has changed. */
void followed_use(struct followed *process);

/* Create a process, not recorded yet. NULL if out of memory. */
struct followed *followed_new(pid_t pid, const struct config *config, const struct launch *launch);

/* Copy the inherited state from the process that called fork to its child. */
void followed_fork(struct followed *child, const struct followed *parent);

/* Return whether it runs Python, whose frames can only be read right after the sample. */
bool followed_runs_python(const struct followed *process);

/* Begin its recording. `now_ns`: CLOCK_MONOTONIC, here and below. */
void followed_begin(struct followed *process, uint64_t now_ns, bool is_forked, enum opening opening);

/* A thread begins, or the one with this number ends. */
void followed_begin_thread(struct followed *process, uint64_t now_ns);
void followed_end_thread(struct followed *process, uint64_t now_ns, uint32_t number);

/* Take a sample of the thread with this number. */
void followed_take(struct followed *process, const struct perf_event_header *record, uint32_t thread);

/* Read newly mapped code; opens the recording's file and copies symbols if necessary. */
void followed_poll(struct followed *process);

/* Return whether it is stopped now. A process that continues starts a new interval, so no interval contains the
 * stop. */
bool followed_is_idle(struct followed *process, uint64_t now_ns);

/* Write the open interval, and begins the next one. */
void followed_close_interval(struct followed *process, uint64_t now_ns);

/* Write the open interval, and ends the recording. */
void followed_end(struct followed *process, uint64_t now_ns);

/* Drop all mappings, as it executes another program. The recording has ended. */
void followed_forget_code(struct followed *process);

void followed_free(struct followed *process);

/* Samples of what threads wait for, taken as the collector does (wait_schedule.h): they are neither stopped nor
 * interrupted. One thread at a time. */

/* Begin, as wait_schedule_begin. */
void waiters_begin(uint64_t per_second, uint64_t recording_budget);

/* Follow a thread. `start_ns`: when it started (CLOCK_MONOTONIC), or 0. Without memory it has no samples. */
void waiters_add(struct followed *process, pid_t tid, uint32_t number, uint64_t start_ns);

/* Stop following a thread, which has ended. */
void waiters_remove(struct followed *process, pid_t tid);

/* Return when samples are due, on CLOCK_MONOTONIC. */
uint64_t waiters_due_ns(void);

/* Take samples of all processes that are recorded, if they are due. `is_alone`: nothing else was due. */
void waiters_sample(uint64_t now_ns, bool is_alone);

/* Account for the threads of a process up to now, at the end of its recording. */
void waiters_finish(struct followed *process);

/* Append the image of the process's open interval to the interval's. */
void waiters_put(struct followed *process);

/* The process was stopped: the time of its threads up to now is not the program's. */
void waiters_exclude(struct followed *process);

/* Forget the threads of a process, whose recording has ended. */
void waiters_forget(struct followed *process);

/* A tick of the kernel as a sample: the position of the thread and its call path. */

/* Unwind the copied stack by the code selected with modules_use; `cache` and `python_codes` (or NULL) are the
 * process's. The caller sets weight and thread. Returns whether the path is complete; an incomplete one begins with
 * SAMPLE_BROKEN. Not thread-safe. */
bool sample_read(struct sample *sample, const struct perf_event_header *record, struct unwind_cache *cache,
                 struct python_thread *python_codes);

#endif

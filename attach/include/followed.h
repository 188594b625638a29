/* A process that is followed, and its recording, if it is recorded. One thread at a time; not async-signal-safe. */
#ifndef ATTACH_FOLLOWED_H
#define ATTACH_FOLLOWED_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config.h"
#include "interval.h"
#include "launch.h"
#include "mappings.h"
#include "jit_names.h"
#include "modules.h"
#include "python.h"
#include "recording.h"
#include "unwind.h"

struct followed {
    pid_t pid;
    char name[16]; /* as the kernel shows it */
    bool is_recorded;
    bool awaits_program; /* has called exec: its first mapping says what it is now */
    bool sees_kernel;    /* ticks inside the kernel are samples too */
    const struct config *config;
    struct launch launch;

    struct code code;
    struct mappings maps;
    bool maps_changed;
    struct unwind_cache cache;
    struct python_found python;
    struct python_thread *python_codes; /* of all its threads: there is one sample at a time. NULL without Python */
    struct jit_names jit_names;

    struct recording recording;
    struct interval interval;
    uint64_t grid_ns;     /* when the open interval ends */
    uint64_t last_cpu_ns; /* of the process, when the last one ended */
    uint64_t lived_ns;    /* since when the time of its threads is not counted yet */
    uint32_t threads, next_thread;
    uint64_t stopped_ns;     /* since when it stands still, by a signal or a debugger; 0: it runs */
    uint64_t suspended_ns;   /* for how long it stood still before the open interval */
    uint64_t ended_ns;       /* when the last thread ended; 0: it has some */
    uint64_t cpu_ns, ticks;  /* of its recording so far */
    uint64_t missing, usual; /* ticks that no sample stands for yet; samples of the last interval */
};

/* One of which nothing is known yet. NULL without memory. */
struct followed *followed_new(pid_t pid, const struct config *config, const struct launch *launch);

/* What a process is when it begins: as the one that has called fork. */
void followed_fork(struct followed *child, const struct followed *parent);

/* Whether it runs Python, whose frames are only there as long as the sample is young. */
bool followed_runs_python(const struct followed *process);

/* Begins its recording. `now_ns`: CLOCK_MONOTONIC, here and below. */
void followed_begin(struct followed *process, uint64_t now_ns, bool is_forked, enum opening opening);

/* From here on it has one thread more, or one less. */
void followed_add_thread(struct followed *process, uint64_t now_ns, int more);

/* Takes a sample of the thread with this number. */
void followed_take(struct followed *process, const struct perf_event_header *record, uint32_t thread);

/* Looks at code that has come, and opens the file and copies symbols, if that has to be done. */
void followed_look(struct followed *process);

/* Whether it stands still at this moment. One that goes on has a new interval: no interval has what it stood still. */
bool followed_stands_still(struct followed *process, uint64_t now_ns);

/* Writes the open interval, and begins the next one. */
void followed_close_interval(struct followed *process, uint64_t now_ns);

/* The same, and ends the recording. */
void followed_end(struct followed *process, uint64_t now_ns);

/* What was mapped is not any more: it becomes another program. The recording has ended. */
void followed_forget_code(struct followed *process);

void followed_free(struct followed *process);

#endif

/* What is recorded of a thread's waits. */
#ifndef INCPROF_THREAD_WAITS_H
#define INCPROF_THREAD_WAITS_H

#include <stdbool.h>
#include <stdint.h>

/* A site of waits: the call path of the application, and the frames of libraries further in. */
#define WAIT_FRAMES 16
struct wait_site {
    uint32_t node; /* of the application's innermost frame */
    uint32_t count;
    struct wait_frame {
        uint64_t address; /* link-time */
        uint64_t module;
    } frames[WAIT_FRAMES]; /* innermost first */
};

/* A span of a thread's time, and what the thread did at its end. */
struct wait_span {
    uint64_t begin_ns, end_ns, waited_ns, delayed_ns;
    uint32_t count;  /* samples; 0: there is no span */
    uint32_t state;  /* enum wait_state (wait_spans.c) */
    uint32_t call;   /* 1 + the system call's number; 0: none */
    uint32_t object; /* enum wait_object */
    bool is_first;   /* the thread did something else at the end of the span before */
    uint32_t holder; /* 1 + number of the thread that holds the lock; 0: unknown */
    struct wait_site site;
};

/* What is known of a thread's waits. For the collector alone. */
struct thread_waits {
    uint64_t owner;                  /* 1 + number of the thread that the rest belongs to; 0: none yet */
    int times_file;                  /* 1 + descriptor in the sampling thread's table; 0: not open */
    int call_file;                   /* the same */
    int descriptors;                 /* the same: the directory of its descriptors */
    uint64_t since_ns;               /* until when its time is accounted for */
    uint64_t cpu_ns, delay_ns, runs; /* at that time */
    uint64_t owed_ns;                /* accounted for too much: the kernel's clocks are not read at the same moment */
    uint64_t same_since_ns;          /* since when it is known to be in the same wait */
    uint64_t due_ns;                 /* no samples before then */
    struct wait_span span;           /* not written yet */
};

#endif

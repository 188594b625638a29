/* A lane: the trace buffer of one thread. Events are encoded at once, into a ring that the writing thread empties. A
 * lane whose thread has ended is reused by the next new thread.
 *
 * Everything except lane_last and the taking side of its rings is for the thread that owns the lane. Not
 * async-signal-safe; because of `is_busy` an MPI call in a handler is not traced while its thread is in this code. */
#ifndef TRACE_LANE_H
#define TRACE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"
#include "counters.h"
#include "event.h"
#include "sys.h"

/* A ring of bytes between a producer and a consumer thread. Nothing here waits.
 *
 * ring_put, ring_has_room and ring_make_room are for the producer, ring_take and ring_taken for the consumer; the rest
 * is for either. Async-signal-safe. */
struct ring {
    uint8_t *bytes;
    uint64_t size;
    uint64_t head, tail; /* bytes put and taken since the start; atomic */
};

/* Allocate the ring. False if out of memory. Not thread-safe. */
bool ring_start(struct ring *ring);

bool ring_has_room(const struct ring *ring, size_t count);

/* The same, but replace a ring that is too small for `count` bytes by a larger one once it is empty. */
bool ring_make_room(struct ring *ring, size_t count);

/* Append bytes; there must be room. */
void ring_put(struct ring *ring, const void *bytes, size_t count);

bool ring_is_half_full(const struct ring *ring);

/* Append the ring's contents to `out`, and return their number of bytes. Their space is free after ring_taken. */
size_t ring_take(const struct ring *ring, struct buffer *out);
void ring_taken(struct ring *ring, size_t count);

/* CPU time of a thread between two times, without a system call for each, which costs half a microsecond. Below
 * CPU_CLOCK_STEP_NS, when a thread is hardly ever preempted, it equals the elapsed time. Not async-signal-safe; for one
 * thread. */
#define CPU_CLOCK_STEP_NS 100000u

struct cpu_clock {
    uint64_t at_ns, cpu_ns; /* read last */
};

/* Read the clock at the current time, `now_ns`. */
static inline void cpu_clock_read(struct cpu_clock *clock, uint64_t now_ns)
{
    clock->at_ns = now_ns;
    clock->cpu_ns = sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Return the CPU time since `since_ns`, the end of an MPI call; for the first call, since the thread's start. */
static inline uint64_t cpu_clock_work(struct cpu_clock *clock, uint64_t since_ns, uint64_t now_ns)
{
    uint64_t gap_ns = now_ns > since_ns ? now_ns - since_ns : 0;
    bool is_first = clock->at_ns == 0;
    if (gap_ns < CPU_CLOCK_STEP_NS && !is_first)
        return gap_ns;
    uint64_t before_ns = is_first ? 0 : clock->cpu_ns + (since_ns > clock->at_ns ? since_ns - clock->at_ns : 0);
    cpu_clock_read(clock, now_ns);
    uint64_t work_ns = clock->cpu_ns > before_ns ? clock->cpu_ns - before_ns : 0;
    return work_ns < gap_ns ? work_ns : gap_ns;
}

/* At the end of an MPI call: account for the estimates since the last reading, which may make the next one inexact. */
static inline void cpu_clock_settle(struct cpu_clock *clock, uint64_t now_ns)
{
    if (now_ns - clock->at_ns >= CPU_CLOCK_STEP_NS)
        cpu_clock_read(clock, now_ns);
}

/* Call sites: positions in the program's objects, numbered per thread in the order of first use; 0 is an unknown one.
 * An address is looked up in the loader's list once, and again after a library has been unloaded: another one may be at
 * the address then, and a library reloaded elsewhere is the same. For one thread; not async-signal-safe. */
#define MOST_SITES 16384u
#define SITE_SLOTS (2 * MOST_SITES)
#define MOST_MODULES 512u

/* Map from non-zero keys to numbers, by open addressing. */
struct site_table {
    uint64_t *keys; /* [SITE_SLOTS] */
    uint32_t *numbers;
};

struct sites {
    struct site_table addresses, places;
    uint64_t *modules; /* [MOST_MODULES]: hashes of path and build-id of the modules already written */
    uint32_t count, module_count;
    uint32_t unloads; /* number of unloads for which the addresses are valid */
};

bool sites_start(struct sites *sites);

/* Return the number of an address. On first use its description is appended to `words`. */
uint32_t sites_number(struct sites *sites, uint64_t address, struct buffer *words);

/* The shapes of a thread's events: all of an event except its times, as bytes in the file's format. An event of a known
 * shape is written as a number, and shorter still if the shape is the one that followed last time. For one thread; not
 * async-signal-safe. */
#define MOST_SHAPES 16384u
#define SHAPE_SLOTS (2 * MOST_SHAPES)
#define SHAPE_BYTES ((size_t)4 << 20)
#define NO_SHAPE UINT32_MAX

struct shape {
    uint64_t hash;
    uint32_t at, length;          /* of its bytes */
    uint32_t follower;            /* the shape that followed it last time, or NO_SHAPE */
    bool is_timed;                /* it has means */
    uint64_t gap_ns, duration_ns; /* running means */
};

struct shapes {
    struct shape *shapes;
    uint32_t *slots; /* 1 + number */
    uint8_t *bytes;
    uint32_t count;
    uint32_t last; /* of the previous event, or NO_SHAPE */
    size_t used;
};

bool shapes_start(struct shapes *shapes);

/* Return whether this is the expected shape. */
bool shapes_expected(const struct shapes *shapes, const uint8_t *key, size_t length);

/* Return the number of a known shape, or NO_SHAPE. */
uint32_t shapes_find(const struct shapes *shapes, const uint8_t *key, size_t length, uint64_t hash);
uint64_t shapes_hash(const uint8_t *key, size_t length);

/* Return whether there is room for one more; otherwise all must be forgotten first. */
bool shapes_have_room(const struct shapes *shapes, size_t length);
void shapes_forget(struct shapes *shapes);
uint32_t shapes_add(struct shapes *shapes, const uint8_t *key, size_t length, uint64_t hash);

/* Record that this shape occurred. */
void shapes_follow(struct shapes *shapes, uint32_t number);

#define LANE_ROOMS 3
#define MOST_OBJECTS 65536u

struct lane {
    struct lane *below; /* in the list of all */
    uint32_t number;
    bool is_taken;     /* by a living thread; atomic */
    bool is_busy;      /* in an MPI call */
    bool is_left;      /* the call was left by a longjmp or an exception */
    bool begins_pause; /* at the end of this call */
    uint64_t made;     /* requests started */
    uint64_t events;   /* encoded; read by the writing thread, atomic */
    uint64_t lost;     /* dropped because the ring was full; atomic */
    uint64_t written_lost;
    uint64_t last_end_ns; /* as reconstructed by a reader, since the start */
    struct cpu_clock cpu;
    struct event event;
    struct buffer rooms[LANE_ROOMS];
    struct buffer completed, started;
    struct buffer key;   /* of the event being encoded */
    struct buffer words; /* descriptions to write before the next event */
    uint32_t *versions;  /* [MOST_OBJECTS]: versions of the objects already written */
    struct shapes shapes;
    struct sites sites;
    uint8_t functions[FUNCTION_COUNT]; /* functions already written */
    struct ring ring;                  /* of encoded events */
    struct counters *counters;         /* NULL if nothing is counted */
    struct reading work_begin, work;
    struct ring counts;         /* a row for each event in `ring` */
    uint64_t uncounted, shared; /* events without counts; those that are estimates; atomic */
};

extern _Thread_local struct lane *lane_mine __attribute__((visibility("hidden"), tls_model("initial-exec")));

struct lane *lane_open(void);

/* Return the calling thread's lane, creating it if necessary; NULL if out of memory. */
static inline struct lane *lane_of_thread(void)
{
    return lane_mine != NULL ? lane_mine : lane_open();
}

/* Return the lane that contains an event. */
static inline struct lane *lane_of_event(struct event *event)
{
    return (struct lane *)(void *)((char *)event - offsetof(struct lane, event));
}

/* In a forked child: forget the calling thread's lane. */
void lane_forget(void);

/* For the writing thread: return the newest lane; `below` links to the others. */
struct lane *lane_last(void);

#endif

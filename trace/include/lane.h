/* A lane: what one thread traces into. Its events are coded at once, into a ring that the writing thread empties. A
 * lane whose thread has ended is taken over by the next thread that comes.
 *
 * Everything but lane_last and the taking side of its rings is for the thread that has the lane. Not
 * async-signal-safe, but for `is_busy`: an MPI call in a handler is not traced while its thread is here. */
#ifndef TRACE_LANE_H
#define TRACE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"
#include "counters.h"
#include "cpu_clock.h"
#include "event.h"
#include "functions.h"
#include "ring.h"
#include "shapes.h"
#include "sites.h"

#define LANE_ROOMS 3
#define MOST_OBJECTS 65536u

struct lane {
    struct lane *below; /* in the list of all */
    uint32_t number;
    bool is_taken;     /* by a living thread; atomic */
    bool is_busy;      /* in an MPI call */
    bool is_left;      /* that call is: by a longjmp or an exception */
    bool begins_pause; /* when this call is over */
    uint64_t made;     /* requests put under way */
    uint64_t events;   /* coded; read by the writing thread, atomic */
    uint64_t lost;     /* not coded, as the ring was full; atomic */
    uint64_t told_lost;
    uint64_t last_end_ns; /* as a reader knows it, since the start */
    struct cpu_clock cpu;
    struct event event;
    struct buffer rooms[LANE_ROOMS];
    struct buffer completed, started;
    struct buffer key;   /* of the event that is being coded */
    struct buffer words; /* what a reader has to know before the next event */
    uint32_t *versions;  /* [MOST_OBJECTS]: of the objects that are written already */
    struct shapes shapes;
    struct sites sites;
    uint8_t functions[FUNCTION_COUNT]; /* those that are written already */
    struct ring ring;                  /* of coded events */
    struct counters *counters;         /* NULL where nothing is counted */
    struct reading work_begin, work;
    struct ring counts;         /* a row for each event in `ring` */
    uint64_t uncounted, shared; /* events without counts; those that are estimates; atomic */
};

extern _Thread_local struct lane *lane_mine __attribute__((visibility("hidden"), tls_model("initial-exec")));

struct lane *lane_open(void);

/* The calling thread's, made if need be; NULL where there is no memory. */
static inline struct lane *lane_of_thread(void)
{
    return lane_mine != NULL ? lane_mine : lane_open();
}

/* The lane that an event is in. */
static inline struct lane *lane_of_event(struct event *event)
{
    return (struct lane *)(void *)((char *)event - offsetof(struct lane, event));
}

/* The forked child of a thread that has one has none. */
void lane_forget(void);

/* For the writing thread: the lane made last, from which `below` leads to the others. */
struct lane *lane_last(void);

#endif

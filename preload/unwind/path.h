/* The call path of a sample: the frames of the application's, innermost first, found within a budget.
 *
 * A deep stack costs more to walk than a sample may. What was seen of it is remembered from one sample of the thread to
 * the next: a walk that comes to a frame which was there before (same place, same return address, same frame pointer,
 * and the return addresses further out unchanged as well) takes the rest from memory, and goes on where the walk before
 * had to stop. So a stack of any depth is known after some samples, as long as its outer part stays.
 *
 * Async-signal-safe; for the thread itself, in the handler of its ticks.
 */
#ifndef INCPROF_PATH_H
#define INCPROF_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind.h"

#define INNER_FRAMES 64 /* powers of two */
#define OUTER_FRAMES 64
#define PATH_MARKS 128

/* A frame on the way out. `passed`: frames of the application's inside it. */
struct path_mark {
    struct frame frame;
    int64_t passed;
};

struct path_memory {
    struct path_mark marks[PATH_MARKS]; /* innermost first */
    size_t count;
    struct path_mark edge;     /* how far out the stack is known */
    enum unwind_result result; /* there. UNWIND_CALLER: it goes on */
    uint64_t
        outer[OUTER_FRAMES]; /* the last frames of the application's before the edge: number n at n % OUTER_FRAMES */
};

struct path {
    uint64_t inner[INNER_FRAMES]; /* look-up addresses */
    uint64_t outer[OUTER_FRAMES]; /* as in path_memory, numbered from the innermost frame on */
    struct path_mark marks[PATH_MARKS];
    size_t mark_count;
    int64_t frames;            /* of the application's */
    size_t walked;             /* of any kind, by this walk */
    uint64_t home;             /* the outermost frame in a library that is more than where threads begin, or 0 */
    bool from_memory;          /* the outer frames are the memory's */
    bool has_gap;              /* between the frames of C that could be told and the outermost of Python */
    enum unwind_result result; /* UNWIND_END: the path is whole */
};

struct python_walk;
struct sample;
struct thread;

/* Walks from the cursor outwards until the stack's end, or the deadline (CLOCK_MONOTONIC). `python`: its frames come in
 * between, and nothing is remembered: the same calls of the interpreter may run other functions by the next sample. Or
 * NULL. */
void path_walk(struct path *path, struct path_memory *memory, struct cursor *cursor, struct python_walk *python,
               uint64_t deadline_ns);

/* Outer frames that the path has beside its inner ones, and the one with this number among them, innermost first. */
static inline size_t path_outer_count(const struct path *path)
{
    int64_t beyond = path->frames - INNER_FRAMES;
    return beyond <= 0 ? 0 : beyond < OUTER_FRAMES ? (size_t)beyond : OUTER_FRAMES;
}

static inline uint64_t path_outer(const struct path *path, const struct path_memory *memory, size_t number)
{
    int64_t end = path->from_memory ? memory->edge.passed : path->frames;
    const uint64_t *frames = path->from_memory ? memory->outer : path->outer;
    return frames[(end - (int64_t)path_outer_count(path) + (int64_t)number) % OUTER_FRAMES];
}

/* Where the program starts: its entry point is no frame of anybody's. Before the first walk in it. */
void path_begin(uint64_t entry);

/* Whether the frame is the application's: code of the executable, or of a library that calls mcount, but no linkage
 * stub. */
bool path_is_application(const struct cursor *cursor);

#endif

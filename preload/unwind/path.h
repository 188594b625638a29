/* The call path of a sample: the application's frames, innermost first, unwound within a time budget.
 *
 * Walking a deep stack costs more than a sample may take. Frames are therefore remembered from one sample of the thread
 * to the next. A walk that reaches a remembered frame (same address, same return address, same frame pointer, and
 * unchanged return addresses further out) takes the rest from memory, and continues where the previous walk had to
 * stop. A stack of any depth is therefore complete after some samples, as long as its outer part stays.
 *
 * Async-signal-safe; for the thread itself, in its tick handler.
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

/* A visited frame. `passed`: number of application frames inside it. */
struct path_mark {
    struct frame frame;
    int64_t passed;
};

struct path_memory {
    struct path_mark marks[PATH_MARKS]; /* innermost first */
    size_t count;
    struct path_mark edge;        /* the outermost remembered frame */
    enum unwind_result result;    /* at the edge. UNWIND_CALLER: the stack continues */
    uint64_t outer[OUTER_FRAMES]; /* the last application frames before the edge: number n at n % OUTER_FRAMES */
};

struct path {
    uint64_t inner[INNER_FRAMES]; /* look-up addresses */
    uint64_t outer[OUTER_FRAMES]; /* as in path_memory, numbered from the innermost frame on */
    struct path_mark marks[PATH_MARKS];
    size_t mark_count;
    int64_t frames;            /* of the application's */
    size_t walked;             /* frames of any kind that this walk visited */
    uint64_t home;             /* the outermost frame in a library that does not merely start threads, or 0 */
    bool from_memory;          /* the outer frames are in path_memory */
    bool has_gap;              /* between the resolved C frames and the outermost Python frame */
    enum unwind_result result; /* UNWIND_END: the path is complete */
    uint64_t *inside;          /* look-up addresses of the innermost frames, those in libraries, where wanted */
    size_t inside_count, inside_most;
};

struct python_walk;
struct sample;
struct thread;

/* Walk from the cursor outwards until the stack's end, or the deadline (CLOCK_MONOTONIC). `python`: the thread's Python
 * frames, or NULL. With them nothing is remembered: the same interpreter calls may run other functions at the next
 * sample. */
void path_walk(struct path *path, struct path_memory *memory, struct cursor *cursor, struct python_walk *python,
               uint64_t deadline_ns);

/* Return the number of outer frames that the path has in addition to its inner ones, and one of them by number,
 * innermost first. */
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

/* Set the program's entry point, which is not reported as a frame. Before the program's first walk. */
void path_begin(uint64_t entry);

/* Return whether the frame is the application's: code of the executable, or of a library that calls mcount, but no
 * linkage stub. */
bool path_is_application(const struct cursor *cursor);

#endif

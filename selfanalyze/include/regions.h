/* Iterative regions and what is known of their iterations. One thread writes (the watched one), another one copies. */
#ifndef SELFANALYZE_REGIONS_H
#define SELFANALYZE_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_REGIONS 512
#define MOST_MEMBERS 64 /* functions of a region's period that are listed */

/* Times of iterations, in nanoseconds. */
struct times {
    uint64_t count, min_ns, max_ns;
    double mean_ns, squares; /* sum of squared deviations from the mean (Welford) */
};

struct region {
    uint64_t hash;   /* of the set of functions in it; of the name in an explicit one */
    uint32_t length; /* of an explicit one, where the program gives it; else 0 */
    bool is_explicit;
    uint32_t depth; /* loops that were seen around it, the most at a time */
    uint32_t member_count;
    uint16_t members[MOST_MEMBERS]; /* functions of one iteration, in order */
    char name[96];                  /* of an explicit one */

    int32_t threads, fewest_threads; /* the most and the fewest that its parallel regions asked for */
    uint32_t tries;                  /* measurements with fewer threads that were begun */
    uint64_t visits, iterations, expected;
    uint64_t period, longest_period; /* parallel regions in an iteration, the fewest and the most; 0: not known */
    uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC: begin of the first iteration, end of the last parallel region */
    uint64_t span_ns;           /* from begin to end of all visits that have ended */
    uint64_t visit_ns;          /* of the one that has not */
    uint64_t self_ns;           /* in visits, but in no loop that was found within them */
    uint64_t parallel_ns;       /* inside of its parallel regions */
    struct times times;         /* with the threads that the program wants */
    struct times fewer;         /* with fewer, when asked to measure that */
};

/* For the watched thread: what it changes lies between the two. They do not nest and never wait. */
void regions_begin_change(void);
void regions_end_change(void);

/* The region with this identity, made if there is none; NULL if there is no room (which is counted). Within a change.
 */
struct region *regions_find(uint64_t hash, uint32_t length, bool is_explicit);
size_t regions_index(const struct region *region);
struct region *regions_at(size_t index);
uint64_t regions_lost(void);

/* Within a change; the region may be NULL. A parallel region of it asks for so many threads. */
void regions_note_threads(struct region *region, int threads);

/* Within a change: a parallel region of it has ended, in a visit that began at `visit_ns`. */
void regions_add_call(struct region *region, uint64_t start_ns, uint64_t end_ns, uint64_t visit_ns);

void times_add(struct times *times, uint64_t ns);

/* For one other thread: a copy of all, valid until the next call, in *copy. Returns their number, or -1 when they were
 * changed all the time. Async-signal-safe. */
long regions_copy(const struct region **copy);

/* In a forked child: there are none. */
void regions_forget(void);

#endif

/* The loops around the program's parallel regions, and the statistics of their iterations. The watched thread writes,
 * another one copies. */
#ifndef SELFANALYZE_REGIONS_H
#define SELFANALYZE_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "functions.h"

#define MOST_REGIONS 512
#define MOST_MEMBERS 64 /* limit of the listed functions of a region's period */

/* Times of iterations, in nanoseconds. */
struct times {
    uint64_t count, min_ns, max_ns;
    double mean_ns, squares; /* sum of squared deviations from the mean (Welford) */
};

struct region {
    uint64_t hash;   /* of the set of functions in it; of the name in an explicit one */
    uint32_t length; /* of an explicit one, if the program gives it; otherwise 0 */
    bool is_explicit;
    uint32_t depth; /* largest number of loops around it */
    uint32_t member_count;
    uint16_t members[MOST_MEMBERS]; /* functions of one iteration, in order */
    char name[96];                  /* of an explicit one */

    int32_t threads, fewest_threads; /* largest and smallest number that its parallel regions requested */
    uint32_t tries;                  /* number of measurements with fewer threads begun */
    uint64_t episodes, iterations, expected;
    uint64_t period, longest_period; /* fewest and most parallel regions in an iteration; 0: unknown */
    uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC: begin of the first iteration, end of the last parallel region */
    uint64_t span_ns;           /* sum of all ended episodes, from begin to end */
    uint64_t episode_ns;        /* of the open episode */
    uint64_t self_ns;           /* in episodes, outside the loops found within them */
    uint64_t parallel_ns;       /* inside its parallel regions */
    struct times times;         /* with the program's number of threads */
    struct times fewer;         /* with fewer, if that measurement is requested */
};

/* For the watched thread: begin and end a change. Changes do not nest and never wait. */
void regions_begin_change(void);
void regions_end_change(void);

/* Find or create the region with this identity; NULL if there is no room (which is counted). Within a change. */
struct region *regions_find(uint64_t hash, uint32_t length, bool is_explicit);
size_t regions_index(const struct region *region);
struct region *regions_at(size_t index);
uint64_t regions_lost(void);

/* Record the number of threads requested by a parallel region of it; the region may be NULL. Within a change. */
void regions_note_threads(struct region *region, int threads);

/* Record the end of a parallel region of it, in an episode that began at `episode_ns`. Within a change. */
void regions_add_call(struct region *region, uint64_t start_ns, uint64_t end_ns, uint64_t episode_ns);

void times_add(struct times *times, uint64_t ns);

/* For one other thread: copy all regions, valid until the next call, into *copy. Returns their number, or -1 if they
 * kept changing. Async-signal-safe. */
long regions_copy(const struct region **copy);

/* In a forked child: forget all. */
void regions_forget(void);

/* Measurement of some iterations with fewer threads, at the user's request. For the watched thread.
 *
 * Iterations belong to epochs; a change of the number of threads begins a new one, and so does the following iteration,
 * whose time includes the change. */
enum epoch_kind { EPOCH_USUAL, EPOCH_SETTLING, EPOCH_FEWER };

/* fewer: number of threads, 0 for never. iterations: number to be timed before, and with fewer threads. */
void baseline_configure(int fewer, int iterations);

uint32_t baseline_epoch(void);

/* Record the duration of an iteration that was entirely in one epoch. */
void baseline_account(struct region *region, uint32_t epoch, uint64_t ns);

/* Handle the begin of an iteration of the region; `outermost`: there is no loop around it. `caller`: an address in the
 * code that last called the run-time, or NULL; it may have been unloaded. */
void baseline_boundary(struct region *region, bool outermost, const void *caller);

/* Handle the end of the region. */
void baseline_end(const struct region *region);

/* Return whether the program's own number of threads is in effect, so that the regions' requests count. */
bool baseline_is_usual(void);

void baseline_forget(void);

/* Identification of a loop by its members. For the watched thread. */

/* Return the region of a loop whose iteration consists of these tokens: functions, and values from MOST_FUNCTIONS on
 * for regions of inner loops. It is the same for the same set of functions, in any order and number. NULL if an inner
 * loop contains all of them, or if there is no room. Within a change. */
struct region *members_region(const uint16_t *tokens, size_t count);

/* In a forked child: forget all. */
void members_forget(void);

/* The begin and duration of the iterations of those loops. For the watched thread. */

/* Allocate a detector of periods below `window`. False if out of memory. Before all other functions. */
bool loops_start(int window);

/* Handle the begin of a parallel region, with the requested number of threads (0: as many as usual); and its end. */
void loops_enter(const struct function *function, int threads, const void *caller);
void loops_leave(void);

/* Separate later calls from earlier ones. */
void loops_break(void);

/* Return an address in the code that last called the run-time, which may have been unloaded, or NULL. */
const void *loops_caller(void);

/* Return the number of parallel regions so far. Any thread. */
uint64_t loops_calls(void);

/* Count an outermost parallel region of another thread; return their number so far. Any thread. */
void loops_count_other(void);
uint64_t loops_other_calls(void);

/* In a forked child: forget everything. */
void loops_forget(void);

/* Loops marked in the program's source, see selfanalyze.h. For the watched thread. */

/* Begin a loop, begin an iteration of it, end it. `hash` and `period` identify it; `caller` as for baseline_boundary.
 * Not within a change of the regions. */
void explicit_begin(const char *name, uint64_t hash, uint32_t period, long expected);
void explicit_iteration(const char *name, uint64_t hash, uint32_t period, const void *caller);
void explicit_end(uint64_t hash, uint32_t period);

/* Return the number of open loops. */
int explicit_count(void);

/* Record the number of threads that a parallel region requests; and its end. Both within a change of the regions, like
 * explicit_break. */
void explicit_threads(int threads);
void explicit_call(uint64_t start_ns, uint64_t end_ns);

/* End all of them. */
void explicit_break(void);

/* In a forked child: forget all. */
void explicit_forget(void);

#endif

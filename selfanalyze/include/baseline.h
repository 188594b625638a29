/* Some iterations with fewer threads, when the user has asked for that. For the watched thread.
 *
 * Iterations belong to epochs; a change of the number of threads begins a new one, and so does the iteration after it,
 * which pays for the change. */
#ifndef SELFANALYZE_BASELINE_H
#define SELFANALYZE_BASELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "regions.h"

enum epoch_kind { EPOCH_USUAL, EPOCH_SETTLING, EPOCH_FEWER };

/* fewer: threads, 0 for never. iterations: to be timed before, and with fewer threads. */
void baseline_configure(int fewer, int iterations);

uint32_t baseline_epoch(void);

/* An iteration that lay in one epoch as a whole took so long. */
void baseline_account(struct region *region, uint32_t epoch, uint64_t ns);

/* An iteration of the region begins; `outermost`: no other loop is around it. `caller`: an address in the code that has
 * called the run-time last, or NULL; it may be gone. */
void baseline_boundary(struct region *region, bool outermost, const void *caller);

/* The region has ended. */
void baseline_end(const struct region *region);

/* Threads are the program's own affair now: what the regions ask for counts. */
bool baseline_is_usual(void);

void baseline_forget(void);

#endif

/* What a heartbeat costs on this machine, found out by doing some. */
#ifndef EKG_COST_H
#define EKG_COST_H

#include <stdint.h>

/* In picoseconds: a begin and an end that are recorded, and that are skipped. 0 where nothing was measured. */
struct cost {
    uint64_t pair_ps, skipped_ps;
    double ticks_per_ns; /* of the processor's counter, as far as that can be seen in the time that it takes */
};

/* Measures, once in a process and its forked children: 0.1 ms of the calling thread, which is the interval thread at
 * its start. Touches nothing that beats of the program touch, and takes no time of theirs. */
void cost_measure(void);

/* The same before the first beat, when there is no interval thread yet and nobody beats: as it will be once it has
 * chosen the path. For lifecycle_while_idle. */
void cost_measure_idle(void);

/* Measures and keeps nothing. Thread-safe. */
struct cost cost_try(void);

/* What was measured. Thread-safe. */
struct cost cost_measured(void);

#endif

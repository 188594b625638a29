/* The dynamic periodicity detector: finds the loops that a stream of samples is in.
 *
 * Freitag, Corbalan and Labarta, "A Dynamic Periodicity Detector: Application to Speedup Computation", IPDPS 2001.
 *
 * Samples here are events: 64-bit numbers of which only equality counts, such as addresses of functions. A lag m is a
 * period when the samples before this one equal those m before them. dpd_values.h has the detector for magnitudes.
 *
 * Threads: a detector has no locks and shares nothing; two threads may use two detectors at the same time, and one
 * detector one after the other. Signals: functions marked "signal-safe" allocate nothing, take no lock and call nothing
 * of libc except memcpy and the like, so that a signal handler may call them on a detector that it did not interrupt.
 */
#ifndef DPD_H
#define DPD_H

#include <stddef.h>
#include <stdint.h>

#ifndef DPD_API
#define DPD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define DPD_MAX_WINDOW 32768 /* samples */
#define DPD_LEVELS 32        /* largest number of nested loops followed at the same time */

/* The paper's interface. Returns 1 if this sample is the first one of a period, else 0; *period is the length of the
 * outermost loop that the stream is in, in samples, or 0. Every thread has its own detector for its own stream; the
 * first call in a thread and DPDWindowSize allocate (not signal-safe). Out of memory: returns 0, and *period is 0. */
DPD_API int DPD(long sample, int *period);

/* Set the window of the calling thread's detector: periods below it are found. 2 to DPD_MAX_WINDOW; other values are
 * ignored. */
DPD_API void DPDWindowSize(int size);

/* When is a lag m a period?
 * DPD_ADAPTIVE: as soon as the pattern was seen twice (m samples match; for m = 1, two).
 * DPD_WINDOW:   when `matches` samples match, as in the paper's equation (2). */
enum dpd_rule { DPD_ADAPTIVE = 0, DPD_WINDOW = 1 };

/* All zero: the defaults. */
struct dpd_options {
    int32_t window;    /* Lags m with 0 < m < window are watched. 0: 100 */
    int32_t capacity;  /* Largest window that dpd_resize may set. 0: as window */
    int32_t rule;      /* enum dpd_rule */
    int32_t matches;   /* N of DPD_WINDOW. 0: as window, and changes with it */
    int32_t tolerance; /* 1: a loop continues over a single odd, missing or additional sample. 0: it ends there */
    int32_t memory;    /* Samples of history for predictions: a power of two, 512 to 2^24. 0: the window */
    int32_t reserved[10];
};

/* A loop: samples first .. last repeat with this period, and with no fraction of it. Indices count from 0. It counts
 * once it has more iterations than neighbouring loops explain: two outside of those that overlap it or still continue
 * within it. */
struct dpd_loop {
    int32_t period;  /* samples */
    uint32_t id;     /* 1, 2, ... in order of appearance; a recurring loop keeps its id. 0: too many distinct loops */
    uint32_t visits; /* number of visits, including this one */
    uint32_t odd;    /* odd samples that it has tolerated */
    uint64_t hash;   /* of its content, independent of its first sample */
    uint64_t first;  /* index of the first sample */
    uint64_t last;   /* index of the last sample so far */
    uint64_t start;  /* index of the latest sample that was the first one of a period; 0 before there is one */
    uint64_t starts; /* periods begun after the two in which the loop was found; each was predicted as a whole */
    uint64_t whole;  /* periods of these that occurred exactly as predicted */
    uint64_t own;    /* index of the first sample not explained by an earlier visit to another loop */
    uint64_t found;  /* index of the sample at which it began to count */
};

struct dpd;

/* Return the size of a detector in bytes; 0 if the options are invalid. Signal-safe. */
DPD_API size_t dpd_size(const struct dpd_options *options);

/* Make a detector in `memory` of dpd_size bytes, aligned to 64; NULL if the options are invalid. NULL options are the
 * defaults. Nothing has to be released. Signal-safe. */
DPD_API struct dpd *dpd_init(void *memory, const struct dpd_options *options);

/* The same in memory from malloc, to be freed by dpd_destroy; NULL if out of memory. Not signal-safe. */
DPD_API struct dpd *dpd_create(const struct dpd_options *options);
DPD_API void dpd_destroy(struct dpd *dpd);

/* Feed one sample. Returns and sets *period as DPD does; period may be NULL. Signal-safe. */
DPD_API int dpd_event(struct dpd *dpd, int64_t sample, int32_t *period);

/* Set the window. The state of the stream is kept, as far as the window reaches. Returns 0, or -1 if the window is
 * below 2 or above the capacity. Signal-safe. */
DPD_API int dpd_resize(struct dpd *dpd, int32_t window);

/* Copy the state of `from` to `to`, for example to change the capacity. `to` keeps only its memory and capacity.
 * Returns 0, or -1 if from's window is above to's capacity, or if tolerance or memory differ. Signal-safe. */
DPD_API int dpd_copy(struct dpd *to, const struct dpd *from);

/* Return the number of samples so far. Signal-safe. */
DPD_API uint64_t dpd_count(const struct dpd *dpd);

/* Return the number of loops that the stream is in, and fill in up to `room` of them, the outermost first.
 * Signal-safe. */
DPD_API int32_t dpd_loops(const struct dpd *dpd, struct dpd_loop *loops, int32_t room);

/* The same for loops ended by the latest sample, which is not part of them. Signal-safe. */
DPD_API int32_t dpd_ended(const struct dpd *dpd, struct dpd_loop *loops, int32_t room);

/* The basis of a prediction. */
enum dpd_backing { DPD_NOTHING = 0, DPD_RECURRENCE = 1, DPD_PERIOD = 2 };

/* Predict the sample that comes `ahead` samples after the latest one (1: the next). Within a loop, the outermost loop
 * predicts (DPD_PERIOD), or the memory if it has recently been right more often (DPD_RECURRENCE). Elsewhere it is the
 * sample that last followed the longest matching piece in the window or, if longer, in the memory (DPD_RECURRENCE).
 * Returns enum dpd_backing. Signal-safe. */
DPD_API int dpd_predict(const struct dpd *dpd, int32_t ahead, int64_t *value);

/* Return the number of latest samples, including this one, that equal those `lag` before them (at most 65534); 0 for
 * lags outside the window. Signal-safe. */
DPD_API int32_t dpd_matches(const struct dpd *dpd, int32_t lag);

/* Output of dpd_events; NULL: not needed. */
struct dpd_trace {
    int32_t *period;        /* (n,) as dpd_event's *period */
    uint8_t *start;         /* (n,) as dpd_event's result */
    const int32_t *ahead;   /* (a,) distances to predict */
    size_t aheads;          /* a */
    int64_t *predicted;     /* (n, a): [i, j] predicts sample i + ahead[j], after sample i */
    uint8_t *backing;       /* (n, a): enum dpd_backing */
    struct dpd_loop *loops; /* (room,) loops that ended */
    size_t room, ended;
};

/* Feed n samples. Returns the number taken: fewer if fewer than DPD_LEVELS of trace->loops are left. Signal-safe. */
DPD_API size_t dpd_events(struct dpd *dpd, const int64_t *samples, size_t n, struct dpd_trace *trace);

#ifdef __cplusplus
}
#endif
#endif

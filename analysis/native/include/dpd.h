/* The dynamic periodicity detector: which loops is a stream of samples in?
 *
 * Freitag, Corbalan and Labarta, "A Dynamic Periodicity Detector: Application to Speedup Computation", IPDPS 2001.
 *
 * Samples here are events: 64-bit numbers of which only equality counts, such as addresses of functions. A lag m is a
 * period when the samples before this one equal those m before them. dpd_values.h has the detector for magnitudes.
 *
 * Threads: a detector has no locks and shares nothing; two threads may use two detectors at the same time, and one
 * detector one after the other. Signals: what is marked "signal-safe" allocates nothing, takes no lock and calls
 * nothing of libc but memcpy and the like, so that a signal handler may call it on a detector that it did not
 * interrupt.
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
#define DPD_LEVELS 32        /* loops within each other that are followed at the same time, at most */

/* The paper's interface. Returns 1 if this sample is the first one of a period, else 0; *period is the length of the
 * outermost loop that the stream is in, in samples, or 0. Every thread has a detector of its own, for a stream of its
 * own; the first call in a thread and DPDWindowSize allocate (not signal-safe). No memory: 0, and *period is 0. */
DPD_API int DPD(long sample, int *period);

/* Set the window of the calling thread's detector: periods below it are found. 2 to DPD_MAX_WINDOW, else ignored. */
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
    int32_t tolerance; /* 1: a loop goes on over a single odd, missing or additional sample. 0: it ends there */
    int32_t memory;    /* Samples that predictions look back on: a power of two, 512 to 2^24. 0: the window */
    int32_t reserved[10];
};

/* A loop: samples first .. last repeat with this period, and with no part of it. Indices count from 0. It counts once
 * it went round more than the loops beside it explain: twice outside of those that reach into it or are still going
 * round within it. */
struct dpd_loop {
    int32_t period;  /* samples */
    uint32_t id;     /* 1, 2, ... as they come; the same loop again has the same. 0: more than are kept apart */
    uint32_t visits; /* how often it has come, this time included */
    uint32_t odd;    /* samples that it went on over (tolerance) */
    uint64_t hash;   /* of its content, the same whichever sample of it comes first */
    uint64_t first;  /* index of the first sample */
    uint64_t last;   /* index of the last sample so far */
    uint64_t start;  /* index of the latest sample that was the first one of a period; 0 before there is one */
    uint64_t starts; /* periods that were begun, after the two in which the loop was found: each was predicted whole */
    uint64_t whole;  /* periods of them that came exactly as predicted */
    uint64_t own;    /* index of the first sample that no visit to another loop explains which began earlier */
    uint64_t found;  /* index of the sample with which it counted */
};

struct dpd;

/* Bytes that a detector takes; 0 if the options are invalid. Signal-safe. */
DPD_API size_t dpd_size(const struct dpd_options *options);

/* Make a detector in `memory` of dpd_size bytes, aligned to 64; NULL if the options are invalid. NULL options are the
 * defaults. Nothing has to be released. Signal-safe. */
DPD_API struct dpd *dpd_init(void *memory, const struct dpd_options *options);

/* The same in memory of malloc's, for dpd_destroy; NULL if there is none. Not signal-safe. */
DPD_API struct dpd *dpd_create(const struct dpd_options *options);
DPD_API void dpd_destroy(struct dpd *dpd);

/* Feed one sample. Returns and sets *period as DPD does; period may be NULL. Signal-safe. */
DPD_API int dpd_event(struct dpd *dpd, int64_t sample, int32_t *period);

/* Set the window. What is known of the stream stays known, as far as the window reaches. Returns 0, or -1 if the
 * window is below 2 or above the capacity. Signal-safe. */
DPD_API int dpd_resize(struct dpd *dpd, int32_t window);

/* Let `to` go on where `from` is: this is how a capacity is changed. `to` keeps its memory, capacity and nothing else.
 * Returns 0, or -1 if from's window is above to's capacity, or if tolerance or memory differ. Signal-safe. */
DPD_API int dpd_copy(struct dpd *to, const struct dpd *from);

/* Samples so far. Signal-safe. */
DPD_API uint64_t dpd_count(const struct dpd *dpd);

/* Loops that the stream is in, the outermost first; returns their number, fills in `room` of them. Signal-safe. */
DPD_API int32_t dpd_loops(const struct dpd *dpd, struct dpd_loop *loops, int32_t room);

/* The same for loops that ended with the latest sample, which was not theirs any more. Signal-safe. */
DPD_API int32_t dpd_ended(const struct dpd *dpd, struct dpd_loop *loops, int32_t room);

/* What backs a prediction. */
enum dpd_backing { DPD_NOTHING = 0, DPD_RECURRENCE = 1, DPD_PERIOD = 2 };

/* Predict the sample that comes `ahead` samples after the latest one (1: the next). Within a loop the outermost one
 * predicts (DPD_PERIOD), or the memory where of late it was right more often (DPD_RECURRENCE). Elsewhere it is the
 * sample that followed last time after the longest piece that is in the window or, where it is longer, in the memory
 * (DPD_RECURRENCE). Returns enum dpd_backing. Signal-safe. */
DPD_API int dpd_predict(const struct dpd *dpd, int32_t ahead, int64_t *value);

/* Samples, of which there are `run[m]` before and with this one that equal those m before them (at most 65534); 0 for
 * lags outside the window. Signal-safe. */
DPD_API int32_t dpd_matches(const struct dpd *dpd, int32_t lag);

/* What dpd_events writes; NULL: not wanted. */
struct dpd_trace {
    int32_t *period;        /* (n,) as dpd_event's *period */
    uint8_t *start;         /* (n,) as dpd_event's result */
    const int32_t *ahead;   /* (a,) how far to predict */
    size_t aheads;          /* a */
    int64_t *predicted;     /* (n, a): [i, j] predicts sample i + ahead[j], after sample i */
    uint8_t *backing;       /* (n, a): enum dpd_backing */
    struct dpd_loop *loops; /* (room,) loops that ended */
    size_t room, ended;
};

/* Feed n samples. Returns how many it took: fewer when fewer than DPD_LEVELS of trace->loops are left. Signal-safe. */
DPD_API size_t dpd_events(struct dpd *dpd, const int64_t *samples, size_t n, struct dpd_trace *trace);

#ifdef __cplusplus
}
#endif
#endif

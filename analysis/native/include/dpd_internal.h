/* Internal definitions of the detectors of events and of magnitudes. */
#ifndef DPD_INTERNAL_H
#define DPD_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "native.h"
#define DPD_API NATIVE_API
#include "dpd.h"
#include "dpd_values.h"

/* Recall beyond the window: a history of samples, and tables of the last end positions of pieces of some lengths. */
#define RECALL_ORDERS 8
#define RECALL_LONGEST 256 /* samples in the longest piece */
#define RECALL_TRUST 7

/* Arrays are in the detector's memory. */
struct recall {
    uint32_t size; /* samples of history and entries of each table: a power of two; 0: no recall */
    uint32_t shift;
    int64_t *history; /* the sample i at i modulo size */
    uint32_t *ended;  /* (orders, size): by hash of a piece, 1 + index of its last sample modulo 2^32; 0: none */
    uint64_t hash[RECALL_ORDERS];  /* of the latest pieces */
    uint64_t power[RECALL_ORDERS]; /* of the hashes' base, by length */
    uint32_t lag;                  /* lag of the earlier piece that the latest samples repeat; 0: none */
    uint32_t trust;                /* 0 .. RECALL_TRUST: how often it was recently right when a loop was wrong */
};

void recall_reset(struct recall *recall);

/* Add the sample `index`. */
void recall_add(struct recall *recall, int64_t sample, uint64_t index);

/* Return the distance from the latest sample, `count` - 1, to the previous end of the longest recurring piece that is
 * longer than `least`; 0 if there is none. */
uint32_t recall_lag(const struct recall *recall, int32_t least, uint64_t count);

/* Update the score of recall and loop with the sample `index`, before recall_add; a loop expects `other`. */
void recall_judge(struct recall *recall, int64_t sample, int64_t other, uint64_t index);

/* Return the distance from the latest sample to the end of the piece that the latest samples repeat, if it is preferred
 * to the loop; otherwise 0. */
uint32_t recall_trusted(const struct recall *recall);

/* Return the sample `back` before the latest one (0: itself). */
static inline int64_t recall_sample(const struct recall *recall, uint64_t back, uint64_t count)
{
    return recall->history[(count - 1 - back) & (recall->size - 1)];
}

/* Map of 64-bit samples to 16-bit symbols while they are in the window: equal symbols mean equal samples. A hash table
 * with linear probing; samples that leave the window leave the table. */

/* Arrays are in the detector's memory. */
struct symbols {
    int64_t *value;   /* by symbol */
    uint64_t *latest; /* by symbol: index of its latest sample */
    uint16_t *spare;  /* unused symbols */
    uint16_t *slot;   /* the table: symbols, 0 if free */
    uint32_t spares;  /* in spare */
    uint32_t mask;    /* slots - 1 */
    uint32_t shift;   /* 64 - log2(slots) */
    uint32_t room;    /* symbols 1 .. room */
};

uint32_t symbols_slots(uint32_t room);
void symbols_reset(struct symbols *symbols);

/* Return the symbol of a sample, creating it if necessary. There must be room, which the caller's window guarantees. */
uint16_t symbols_take(struct symbols *symbols, int64_t sample, uint64_t index);

/* Remove the sample `index`; its symbol is freed if no later sample has it. */
void symbols_leave(struct symbols *symbols, uint16_t symbol, uint64_t index);

#define DPD_KNOWN 1024 /* distinct loops that are recorded; a power of two */
#define DPD_MENDS 4    /* loops that may be under mending at the same time */
#define DPD_HYPOTHESES 3
#define DPD_EPISODES 256 /* number of remembered episodes; a power of two */

/* A current loop, with phases 0 .. period - 1. */
struct level {
    struct dpd_loop loop;
    int32_t phase;   /* of the next sample */
    int32_t mend;    /* index of the mend that decides whether it continues, or -1 */
    bool spoilt;     /* the current period has an odd sample */
    bool hides;      /* it kept a lag from becoming a level, which that may be if this one has ended */
    uint64_t odd[2]; /* 1 + index of the latest two odd samples; 0: none */
    bool counts;     /* it has more iterations than other loops explain; until then it is only observed */
};

/* A segment in which a counting loop was present. */
struct episode {
    uint64_t first, last;
    int32_t period;
};

/* The state of a loop after a sample that was not its own: see dpd_mend.c. */
struct mend {
    bool used;
    int32_t phase[DPD_HYPOTHESES]; /* of the next sample, by hypothesis; -1: refuted */
    int32_t samples;               /* samples since the odd one */
    int64_t *pattern;              /* (capacity,) the loop's samples by phase */
};

struct known {
    uint64_t hash;
    uint32_t id, visits;
};

struct dpd {
    const struct dpd_kernels *kernels;
    struct dpd_options options; /* as given, with defaults filled in */
    int32_t window;
    int32_t lags;   /* window - 1: lags 1 .. lags */
    int32_t padded; /* the window in whole blocks */
    uint64_t count; /* samples so far */

    /* Lag m is element m - 1. The ring is a buffer that is filled from its end towards its begin, so that past[m - 1]
     * is the sample m before; at the begin, the samples still needed move to the end. */
    uint16_t *run, *threshold;
    uint16_t *buffer;
    int32_t head, buffered; /* past is buffer + head */
    struct symbols symbols;
    struct recall recall;

    int32_t levels, ended;
    bool recheck;                   /* runs may have reached their thresholds unseen */
    int32_t watched;                /* number of levels that do not count yet */
    struct level level[DPD_LEVELS]; /* the longest period first */
    struct dpd_loop last[DPD_LEVELS];
    uint32_t episodes; /* number ever remembered; the latest is episode[(episodes - 1) % DPD_EPISODES] */
    struct episode episode[DPD_EPISODES]; /* none within another: both ends grow */
    uint32_t loops_known;
    struct known known[DPD_KNOWN];
    struct mend mend[DPD_MENDS];
};

static inline const uint16_t *dpd_past(const struct dpd *dpd)
{
    return dpd->buffer + dpd->head;
}

/* Return the sample `back` before the latest one (0: itself); it must be in the window. */
static inline int64_t dpd_sample(const struct dpd *dpd, int32_t back)
{
    return dpd->symbols.value[dpd_past(dpd)[back]];
}

/* Return the matches that a lag needs. Lag 1 needs one more: two equal samples are no loop. */
static inline int32_t dpd_needed(const struct dpd *dpd, int32_t lag)
{
    if (dpd->options.rule == DPD_ADAPTIVE)
        return lag > 2 ? lag : 2;
    return dpd->options.matches ? dpd->options.matches : dpd->window;
}

/* Return the outermost loop that counts, or NULL. */
static inline const struct level *dpd_outermost(const struct dpd *dpd)
{
    for (int32_t i = 0; i < dpd->levels; i++)
        if (dpd->level[i].counts)
            return &dpd->level[i];
    return NULL;
}

/* dpd_overlap.c. remember: a loop that counts has ended. begin: index of the first sample of the pattern of `lag`
 * samples, repeated from `low` on, that belongs to whole episodes. end: 1 + index of the last such one, if the latest
 * sample is `index`. after: index of the first sample of an episode from `first` on that an earlier one does not have.
 */
void dpd_overlap_remember(struct dpd *dpd, const struct dpd_loop *loop);
uint64_t dpd_overlap_begin(const struct dpd *dpd, int32_t lag, uint64_t low);
uint64_t dpd_overlap_end(const struct dpd *dpd, int32_t lag, uint64_t index);
uint64_t dpd_overlap_after(const struct dpd *dpd, uint64_t first);

/* dpd_levels.c: the sample `index` was counted and is in the ring. `reached`: a run has come to its threshold. */
int dpd_levels_follow(struct dpd *dpd, uint64_t index, bool reached, int64_t sample);
void dpd_levels_end(struct dpd *dpd, int32_t at);

/* dpd_identity.c: set hash, id and number of visits of the loop, whose latest period ends with the latest sample. */
void dpd_identify(struct dpd *dpd, struct dpd_loop *loop);

/* dpd_mend.c. begin: the sample `index` was not the level's own; return whether mending may start. follow: evaluate the
 * next sample; with MEND_OPEN and MEND_DONE, level->phase is that of this sample. */
enum mend_verdict { MEND_OPEN, MEND_DONE, MEND_FAILED };
bool dpd_mend_begin(struct dpd *dpd, struct level *level, uint64_t index, int64_t sample);
enum mend_verdict dpd_mend_follow(struct dpd *dpd, struct level *level, int64_t sample);
bool dpd_mend_begins(const struct dpd *dpd, const struct level *level); /* is the odd sample a period's first one? */
int64_t dpd_mend_predict(const struct dpd *dpd, const struct level *level, int32_t ahead);
void dpd_mend_drop(struct dpd *dpd, struct level *level);

/* Loops over all lags, for the processor's vector instructions. */

/* Arrays of lags are padded to whole blocks and aligned to DPD_ALIGN bytes, `past` excepted. */
#define DPD_BLOCK 32
#define DPD_ALIGN 64
#define DPD_RUN_MOST 65534
#define DPD_NEVER 65535 /* a threshold that no run reaches */

struct dpd_kernels {
    const char *name;

    /* Increments run[j] if past[j] is the symbol, and sets it to 0 otherwise; it saturates at DPD_RUN_MOST. Returns
     * non-zero if a run has just reached threshold[j]. */
    uint16_t (*count)(uint16_t *run, const uint16_t *past, const uint16_t *threshold, uint16_t symbol, size_t n);

    /* Returns whether run[j] equals threshold[j] for any j. */
    uint16_t (*meets)(const uint16_t *run, const uint16_t *threshold, size_t n);

    /* Largest of run[0 .. n - 1]. */
    uint16_t (*longest)(const uint16_t *run, size_t n);

    /* sum[j] += |x - near[j]| - |y - far[j]|. */
    void (*distances)(double *sum, const double *near, const double *far, double x, double y, size_t n);

    /* Largest of d[0 .. n - 1] and `least`; no NaN, none negative by more than rounding. */
    double (*largest)(const double *d, size_t n, double least);

    /* Sum of |a[j] - b[j]|. */
    double (*distance)(const double *a, const double *b, size_t n);
};

/* Return the best kernels for this processor; never NULL. Signal-safe. */
const struct dpd_kernels *dpd_kernels(void);

/* Return the i-th kernels that this processor supports, NULL behind the last: for tests and benchmarks. */
const struct dpd_kernels *dpd_kernels_at(int i);

/* The detector of magnitudes. */

struct dpd_values {
    const struct dpd_kernels *kernels;
    struct dpd_values_options options; /* as given, with defaults filled in */
    int32_t window, lags;              /* N; M - 1: lags 1 .. lags */
    int32_t padded;                    /* lags in whole blocks */
    int32_t have;                      /* available samples: at most N + M */
    bool inexact;                      /* sums may be rounded */
    int32_t again;                     /* lag whose sum is recomputed next, less 1 */
    uint64_t count;

    /* Lag m is element m - 1 of the sums. past[k] is the sample k before the latest: buffer + head. */
    double *sum, *distance, *buffer;
    int32_t head, buffered;

    int32_t period, to_start; /* samples until one is the first of a period; 0: the next */
    double confidence;
};

/* Return the number of complete terms of d(lag) for the available samples. */
static inline int32_t dpd_values_terms(const struct dpd_values *dpd, int32_t lag)
{
    int32_t terms = dpd->have - lag;
    return terms < 0 ? 0 : terms < dpd->window ? terms : dpd->window;
}

/* d(1) .. d(n), n > 0, whose local minima are queried in ascending order; d may have any factor. */
struct dpd_values_minima {
    const struct dpd_kernels *kernels;
    const double *d;
    int32_t n;
    double least;  /* ratio of the largest d before a minimum to that at it */
    int32_t done;  /* lags evaluated */
    double before; /* the largest d of these */
};

/* dpd_values_minima.c: return whether the largest d before a lag is larger by that ratio. */
bool dpd_values_is_after_a_rise(struct dpd_values_minima *minima, int32_t lag);

/* dpd_values_minima.c: the next minimum after a lag (of equal ones the first lag) whose d is at most `limit`, or 0. */
int32_t dpd_values_next_minimum(struct dpd_values_minima *minima, int32_t after, double limit);

/* dpd_values_rival.c: return whether another lag repeats the residual that the period leaves of the series. */
bool dpd_values_has_rival(const struct dpd_values *dpd, struct dpd_values_minima *minima, int32_t period, double most);

/* dpd_values_rival.c: return whether a lag's residual exceeds chance, in a series of which the other lag leaves only
 * noise. */
bool dpd_values_is_worse(const struct dpd_values *dpd, int32_t lag, int32_t other);

/* dpd_values_search.c: return the period shown by d(1) .. d(n), n > 0, or 0; *confidence is the largest d over its
 * own. */
int32_t dpd_values_search(const struct dpd_values *dpd, const double *d, int32_t n, double *confidence);

#endif

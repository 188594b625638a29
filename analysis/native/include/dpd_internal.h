/* A detector of events, as its parts know it. */
#ifndef DPD_INTERNAL_H
#define DPD_INTERNAL_H

#include <stdbool.h>

#include "native.h"
#define DPD_API NATIVE_API
#include "dpd.h"
#include "dpd_kernels.h"
#include "dpd_recall.h"
#include "dpd_symbols.h"

#define DPD_KNOWN 1024 /* loops that are kept apart; a power of two */
#define DPD_MENDS 4    /* loops that may wait at the same time whether they go on */
#define DPD_HYPOTHESES 3
#define DPD_VISITS 256 /* latest visits that are remembered; a power of two */

/* A loop that is there. Segments have phases 0 .. period - 1. */
struct level {
    struct dpd_loop loop;
    int32_t phase;   /* of the sample to come */
    int32_t mend;    /* index of the mend that decides whether it goes on, or -1 */
    bool spoilt;     /* the current period has an odd sample */
    bool hides;      /* kept a lag from becoming a level, which it may be when this one turns out to have ended */
    uint64_t odd[2]; /* 1 + index of the latest two odd samples; 0: none */
    bool counts;     /* it went round more than other loops explain; until then it is only watched */
};

/* A stretch in which a loop that counts was there. */
struct visit {
    uint64_t first, last;
    int32_t period;
};

/* What a loop waits for after a sample that was not its own: see dpd_mend.c. */
struct mend {
    bool used;
    int32_t phase[DPD_HYPOTHESES]; /* of the sample to come, by hypothesis; -1: refuted */
    int32_t seen;                  /* samples since the odd one */
    int64_t *pattern;              /* (capacity,) the loop's samples by phase */
};

struct known {
    uint64_t hash;
    uint32_t id, visits;
};

struct dpd {
    const struct dpd_kernels *kernels;
    struct dpd_options options; /* as given, defaults filled in */
    int32_t window;
    int32_t lags;   /* window - 1: lags 1 .. lags */
    int32_t padded; /* the window in whole blocks */
    uint64_t count; /* samples so far */

    /* Lag m is element m - 1. The ring is a buffer that is filled from its end towards its begin, so that past[m - 1]
     * is the sample m before; at the begin, what is still needed moves to the end. */
    uint16_t *run, *threshold;
    uint16_t *buffer;
    int32_t head, buffered; /* past is buffer + head */
    struct symbols symbols;
    struct recall recall;

    int32_t levels, ended;
    bool look;                      /* runs may have reached their thresholds unseen */
    int32_t watched;                /* levels that do not count yet */
    struct level level[DPD_LEVELS]; /* the longest period first */
    struct dpd_loop last[DPD_LEVELS];
    uint32_t visits;                /* ever remembered; the latest is visit[(visits - 1) % DPD_VISITS] */
    struct visit visit[DPD_VISITS]; /* none within another: both ends grow */
    uint32_t loops_known;
    struct known known[DPD_KNOWN];
    struct mend mend[DPD_MENDS];
};

static inline const uint16_t *dpd_past(const struct dpd *dpd)
{
    return dpd->buffer + dpd->head;
}

/* The sample `back` before the latest one (0: itself); it must be in the window. */
static inline int64_t dpd_sample(const struct dpd *dpd, int32_t back)
{
    return dpd->symbols.value[dpd_past(dpd)[back]];
}

/* Lag 1 is a period only when it was confirmed once more: two equal samples are no loop. */
static inline int32_t dpd_needed(const struct dpd *dpd, int32_t lag)
{
    if (dpd->options.rule == DPD_ADAPTIVE)
        return lag > 2 ? lag : 2;
    return dpd->options.matches ? dpd->options.matches : dpd->window;
}

/* The outermost loop that counts, or NULL. */
static inline const struct level *dpd_outermost(const struct dpd *dpd)
{
    for (int32_t i = 0; i < dpd->levels; i++)
        if (dpd->level[i].counts)
            return &dpd->level[i];
    return NULL;
}

/* dpd_overlap.c. remember: a loop that counts has ended. begin: index of the first sample of the pattern of `lag`
 * samples, repeated from `low` on, that belongs to whole visits. end: 1 + index of the last such one, if the latest
 * sample is `index`. after: index of the first sample of a visit from `first` on that an earlier one does not have. */
void dpd_overlap_remember(struct dpd *dpd, const struct dpd_loop *loop);
uint64_t dpd_overlap_begin(const struct dpd *dpd, int32_t lag, uint64_t low);
uint64_t dpd_overlap_end(const struct dpd *dpd, int32_t lag, uint64_t index);
uint64_t dpd_overlap_after(const struct dpd *dpd, uint64_t first);

/* dpd_levels.c: the sample `index` was counted and is in the ring. `reached`: a run has come to its threshold. */
int dpd_levels_follow(struct dpd *dpd, uint64_t index, bool reached, int64_t sample);
void dpd_levels_end(struct dpd *dpd, int32_t at);

/* dpd_identity.c: gives the loop, whose latest period ends with the latest sample, its hash, id and number of visits.
 */
void dpd_identify(struct dpd *dpd, struct dpd_loop *loop);

/* dpd_mend.c. begin: the sample `index` was not the level's own; may the level wait? follow: what the next sample says;
 * while MEND_OPEN and when MEND_DONE, level->phase is that of this sample. */
enum mend_verdict { MEND_OPEN, MEND_DONE, MEND_FAILED };
bool dpd_mend_begin(struct dpd *dpd, struct level *level, uint64_t index, int64_t sample);
enum mend_verdict dpd_mend_follow(struct dpd *dpd, struct level *level, int64_t sample);
bool dpd_mend_begins(const struct dpd *dpd, const struct level *level); /* is the odd sample a period's first one? */
int64_t dpd_mend_predict(const struct dpd *dpd, const struct level *level, int32_t ahead);
void dpd_mend_drop(struct dpd *dpd, struct level *level);

#endif

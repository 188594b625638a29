/* A stage and the visit to a loop that it is in: for stages.c. */
#ifndef SELFANALYZE_STAGE_H
#define SELFANALYZE_STAGE_H

#include "dpd.h"
#include "regions.h"
#include "stages.h"

#define MOST_STAGES 4
#define RING 4096 /* more than two periods and what was before them */

/* A call, or a loop of the stage below: then it is the call at which that was found. */
struct token {
    struct call at;
    uint64_t inner_ns; /* in loops of the stages below, before it */
    uint16_t what;     /* function, or MOST_FUNCTIONS and the region's index */
};

/* The loop that a stage is in. Iterations begin with tokens first, first + period, ... */
struct visit {
    struct region *region; /* NULL: it is in none */
    uint32_t id;
    uint64_t first, period, next;
    uint64_t counted;       /* `next` of the latest iteration that was counted when its last call ended */
    struct token begin;     /* where its time begins */
    struct token under_way; /* the first token of the latest iteration */
    uint64_t self_ns;
};

struct stage {
    struct dpd *detector;
    uint64_t count;    /* tokens since the last break; the latest is count - 1 */
    uint64_t folded;   /* 1 + index of the latest one that is a loop; 0: none */
    uint64_t inside;   /* 1 + index of the latest one within a visit; 0: none */
    uint64_t refused;  /* 1 + first token of the latest loop that was not taken; 0: none */
    uint64_t self_ns;  /* in all visits, without those of the stages below */
    uint64_t until_ns; /* end of the latest visit */
    struct visit visit;
    struct token ring[RING];
};

extern struct stage stages[MOST_STAGES]; /* of the calls, of these with their innermost loops folded, ... */

static inline struct token *token_at(struct stage *stage, uint64_t index)
{
    return &stage->ring[index % RING];
}

/* Time in all loops of the stages below. */
uint64_t visit_inner_ns(const struct stage *stage);

/* Takes the visit's own time up to the end of the latest call. It may become less: a loop within is found after its
 * second iteration. */
void visit_settle(struct stage *stage);

/* The iteration from one token to the other is over. */
void visit_account(struct region *region, const struct token *from, const struct token *to);

/* Loops that are open around the stage's own. */
uint32_t visit_depth(const struct stage *stage);

/* The stage comes to the loop, in which an iteration begins with token `first`: what was before the loop was known is
 * timed now, as far as it is remembered. */
void visit_open(struct stage *stage, struct region *region, const struct dpd_loop *loop, uint64_t first);

/* The stage leaves its loop, if it is in one, with its latest token. */
void visit_close(struct stage *stage);

/* The latest call has ended. */
void visit_call_ended(uint64_t end_ns);

void visits_forget(void);

#endif

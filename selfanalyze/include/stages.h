/* Nested loops. A stage is a stream of tokens with a period detector: first the stream of calls, then the same stream
 * with each innermost loop folded into one token, and so on. So an outer loop is found even if its iterations differ
 * because the inner loop's iteration count varies. For the watched thread. */
#ifndef SELFANALYZE_STAGES_H
#define SELFANALYZE_STAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "dpd.h"
#include "regions.h"

/* The begin of a parallel region. `call`: its index from 0; parallel_ns: time in the previous ones. */
struct call {
    uint64_t call, start_ns, parallel_ns;
    uint32_t epoch, epoch_before; /* of this region and of the previous one, see regions.h */
    uint16_t function;
};

/* Allocate detectors of periods below `window` tokens. False if out of memory. Before all other functions. */
bool stages_start(int window);

/* At the begin of a call: follow all loops, and open and close episodes of them. `caller` as in loops_enter. Within a
 * change of the regions. */
void stages_begin(const struct call *call, const void *caller);

/* Set the epoch of the latest call, and the number of threads that its regions request. Within a change. */
void stages_note(uint32_t epoch, int threads);

/* Handle the end of the latest call. Within a change. */
void stages_end(uint64_t start_ns, uint64_t end_ns);

/* Separate later calls from earlier ones. Within a change. */
void stages_break(void);

/* In a forked child: forget everything. */
void stages_forget(void);

/* A stage and its current episode of a loop: for stages.c. */
#define MOST_STAGES 4
#define RING 4096 /* more than two periods and the tokens before them */

/* A call, or a loop of the stage below; then the call at which the loop was found. */
struct token {
    struct call at;
    uint64_t inner_ns; /* time in loops of the stages below, before it */
    uint16_t what;     /* function, or MOST_FUNCTIONS and the region's index */
};

/* The current loop of a stage. Iterations begin with tokens first, first + period, ... */
struct episode {
    struct region *region; /* NULL: no loop */
    uint32_t id;
    uint64_t first, period, next;
    uint64_t counted;     /* `next` of the latest iteration counted at its last call's end */
    struct token begin;   /* begin of its time */
    struct token current; /* the first token of the latest iteration */
    uint64_t self_ns;
};

struct stage {
    struct dpd *detector;
    uint64_t count;    /* number of tokens since the last break; the latest is count - 1 */
    uint64_t folded;   /* 1 + index of the latest token that is a loop; 0: none */
    uint64_t inside;   /* 1 + index of the latest token within an episode; 0: none */
    uint64_t refused;  /* 1 + first token of the latest rejected loop; 0: none */
    uint64_t self_ns;  /* time in all episodes, without those of the stages below */
    uint64_t until_ns; /* end of the latest episode */
    struct episode episode;
    struct token ring[RING];
};

extern struct stage stages[MOST_STAGES]; /* the calls; the calls with innermost loops folded; ... */

static inline struct token *token_at(struct stage *stage, uint64_t index)
{
    return &stage->ring[index % RING];
}

/* Return the time in all loops of the stages below. */
uint64_t episode_inner_ns(const struct stage *stage);

/* Update the episode's self time up to the end of the latest call. It may decrease, because an inner loop is found only
 * after its second iteration. */
void episode_settle(struct stage *stage);

/* Account for the completed iteration from one token to the other. */
void episode_account(struct region *region, const struct token *from, const struct token *to);

/* Return the number of open loops around the stage's own. */
uint32_t episode_depth(const struct stage *stage);

/* Enter the loop, in which an iteration begins with token `first`: iterations before its detection are timed now, as
 * far as they are remembered. */
void episode_open(struct stage *stage, struct region *region, const struct dpd_loop *loop, uint64_t first);

/* Leave the stage's loop, if any, with its latest token. */
void episode_close(struct stage *stage);

/* Handle the end of the latest call. */
void episode_call_ended(uint64_t end_ns);

void episodes_forget(void);

#endif

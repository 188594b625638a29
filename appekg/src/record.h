/* A thread's record: one slot per id that it has beaten, in one mapping of its own. quiescence.h says who may do what
 * to it, and when. */
#ifndef EKG_RECORD_H
#define EKG_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "appekg.h"

#define INLINE_STARTS 7u
#define DEEP_STARTS 65536u /* of all ids of a thread together */
#define INDEX_PLACES (2 * EKG_SLOTS_)

/* What ended in one interval, in ticks. All zero at its beginning; `min` holds once there is a count. */
struct bank {
    uint64_t count, pulses;
    uint64_t sum, nested;
    uint64_t min, max;
    unsigned __int128 sumsq;
};

/* In `depth`: the owner is changing the slot. */
#define SLOT_INSIDE 0x80000000u

/* The rest of struct ekg_slot_. */
struct slot {
    uint64_t key; /* these five are the public part */
    uint64_t skipping;
    uint32_t depth;
    uint32_t revoked;
    uint64_t starts[INLINE_STARTS];
    uint32_t skip; /* rate factor less one */
    uint32_t id;
    uint32_t generation;    /* ekg_shared_.on when set up; 0 in a free slot */
    uint32_t deep;          /* innermost of the begins beyond the inline ones: its number, from 1 */
    uint32_t untimed;       /* open beats beyond what there is room for */
    uint32_t taken;         /* open beats, the oldest, that other threads have ended; written under slots_lock */
    uint16_t taken_skips;   /* the same of beats that are skipped */
    uint16_t vain_entries;  /* by handlers that have interrupted a change of the slot */
    uint16_t vain_searches; /* ends that had no begin in other threads either, while the same bank has been open */
    uint16_t vain_bank;     /* that bank, as in the mode */
    uint64_t was_open[2];   /* begin of the oldest beat that was open when the first one ended in the bank */
    struct bank banks[2];
};

_Static_assert(sizeof(struct bank) == 64, "a bank is a cache line");
_Static_assert(sizeof(struct slot) == sizeof(struct ekg_slot_), "struct ekg_slot_ is the public face of struct slot");

/* What is kept of a slot besides, for turns that are skipped (thinning.h). The owner's; what has two halves goes with
 * the banks. */
struct tally {
    uint64_t skipped[2]; /* turns, by bank, each before one that was recorded */
    uint64_t inner[2];   /* recorded beats and pulses within a turn */
    uint64_t settled;    /* when the account was; 0 never */
    int64_t account;
    uint64_t missed; /* turns skipped since then */
    uint32_t recorded;
    uint32_t due;    /* turns skipped since the last recorded one, and to be skipped still */
    uint32_t chosen; /* the slot's `skip`, when it is not the program's choice; the interval thread's as well */
    uint32_t random;
};

struct deep_start {
    uint64_t ticks;
    uint32_t outer; /* the next one outwards, or 0 */
    uint32_t unused;
};

enum record_state { RECORD_FREE, RECORD_LIVE, RECORD_ENDED };

struct record {
    uint32_t state;
    uint32_t number; /* in order of first beat, from 0; never used twice in a process */
    pid_t tid;
    uint32_t dropped, unmatched; /* since the thread's first beat; written by the owner */
    uint32_t dropped_taken, unmatched_taken;
    uint32_t deep_used, deep_free; /* numbers from 1; of the list of those given back */
    bool deep_busy;                /* the owner is changing that list, and may be interrupted by a handler of its own */
    bool in_doubt;                 /* was not quiescent in time, and is not waited for again */
    bool announced;                /* a row of its thread was written. The interval thread's */
    struct record *next, *next_free;
    uint32_t displaced_above; /* the slots from this one on are in use. The owner's */
    uint32_t touched_count;
    uint16_t touched[EKG_SLOTS_]; /* slots in use, in order of first beat */
};

#define RECORD_HEADER_BYTES ((size_t)32 << 10)
#define RECORD_SLOT_BYTES (EKG_SLOTS_ * sizeof(struct slot))
#define RECORD_DEEP_BYTES (DEEP_STARTS * sizeof(struct deep_start))
#define RECORD_INDEX_BYTES (INDEX_PLACES * sizeof(uint16_t))
#define RECORD_TALLY_BYTES (EKG_SLOTS_ * sizeof(struct tally))
#define RECORD_BYTES                                                                                                   \
    (RECORD_HEADER_BYTES + RECORD_SLOT_BYTES + RECORD_DEEP_BYTES + RECORD_INDEX_BYTES + RECORD_TALLY_BYTES)

_Static_assert(sizeof(struct record) <= RECORD_HEADER_BYTES, "the header has its room");

static inline struct record *record_of(struct ekg_slot_ *slots)
{
    return (struct record *)((char *)slots - RECORD_HEADER_BYTES);
}

static inline struct slot *record_slots(struct record *record)
{
    return (struct slot *)((char *)record + RECORD_HEADER_BYTES);
}

static inline struct deep_start *record_deep(struct record *record)
{
    return (struct deep_start *)((char *)record + RECORD_HEADER_BYTES + RECORD_SLOT_BYTES);
}

/* A hash table of the slots of ids that are not at their place, id modulo EKG_SLOTS_, because another one was there
 * before: number of the slot, from 1. At most half full. */
static inline uint16_t *record_index(struct record *record)
{
    return (uint16_t *)((char *)record_deep(record) + RECORD_DEEP_BYTES);
}

static inline struct tally *record_tally(struct record *record, const struct slot *slot)
{
    return (struct tally *)((char *)record_index(record) + RECORD_INDEX_BYTES) + (slot - record_slots(record));
}

/* Adds one to a counter that only the caller writes. */
static inline void record_count(uint32_t *counter)
{
    __atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

/* Open beats that nobody has ended, and the begin of the oldest of them, as far as it is kept inline. */
static inline uint32_t slot_open(const struct slot *slot)
{
    uint32_t taken = __atomic_load_n(&slot->taken, __ATOMIC_ACQUIRE);
    uint32_t depth = __atomic_load_n(&slot->depth, __ATOMIC_ACQUIRE) & ~SLOT_INSIDE;
    return depth > taken ? depth - taken : 0;
}

/* Open beats that are skipped, and that nobody has ended: for others than the owner a guess, and no more is needed. */
static inline uint32_t slot_skips(const struct slot *slot)
{
    uint64_t open = __atomic_load_n(&slot->skipping, __ATOMIC_RELAXED) / EKG_SKIPPED_;
    return open > slot->taken_skips ? (uint32_t)open - slot->taken_skips : 0;
}

static inline uint64_t slot_oldest(const struct slot *slot)
{
    uint32_t taken = __atomic_load_n(&slot->taken, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&slot->starts[taken < INLINE_STARTS ? taken : INLINE_STARTS - 1], __ATOMIC_RELAXED);
}

/* The calling thread's record, made or used again at its first beat; NULL when there is no memory. Not
 * async-signal-safe: a thread's first beat is not for a handler. */
struct record *record_mine(void);

/* The slot of an id in a record, or NULL. For the owner, and for others under the protocol. */
struct slot *record_find(struct record *record, uint32_t id);

/* The same for the owner, which gets a new one, set up for `generation`; NULL when the record is full. */
struct slot *record_claim(struct record *record, uint32_t id, uint32_t generation);

/* Room for a begin beyond the inline ones: its number, or 0 when there is none. For the owner, as the next. */
uint32_t record_take_deep(struct record *record);
void record_give_deep(struct record *record, uint32_t number);

/* Forgets the slot's open beats. */
void record_forget_open(struct record *record, struct slot *slot);

/* All records, also free ones. */
struct record *records_first(void);

/* The record of a thread that has ended, all taken, is free for another one. For the interval thread. */
void record_recycle(struct record *record);

/* In a forked child: no record is left. */
void records_forget(void);

/* When the library is unloaded: threads that end later do not come here. */
void records_stop(void);

/* Once, before the first beat; false when there is no key for the threads' ends. */
bool records_start(void);

#endif

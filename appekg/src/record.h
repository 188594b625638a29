/* A thread's record: one slot per id that it has used, in one separate mapping. quiescence.h defines which thread may
 * access it, and when. */
#ifndef EKG_RECORD_H
#define EKG_RECORD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "appekg.h"
#include "sys.h"

/* Blocking of signals, and a lock for the slow paths. Its holder blocks signals, so that no handler finds it held by
 * its own thread. It stores the holder's process: a child created without libc takes over a lock that no thread there
 * can release. Thread-safe and async-signal-safe. */
struct lock {
    uint32_t holder; /* a process, or 0 */
};

#define SPINS 100

/* Block all signals except libc's own, because a setuid waits for all threads to handle one. Returns the previous
 * mask. */
static inline uint64_t signals_block(void)
{
    const uint64_t all = ~((uint64_t)1 << (33 - 1));
    uint64_t mask = 0;
    SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof all);
    return mask;
}

static inline bool lock_change(struct lock *lock, uint32_t *from, uint32_t to)
{
    return __atomic_compare_exchange_n(&lock->holder, from, to, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline uint64_t lock_take(struct lock *lock)
{
    const struct timespec pause = {0, 20000};
    const uint32_t self = (uint32_t)SYS0(SYS_getpid);
    uint64_t mask = signals_block();
    for (int attempt = 0;; attempt++) {
        uint32_t holder = 0;
        if (lock_change(lock, &holder, self))
            break;
        if (attempt < SPINS)
            continue;
        if (holder != self && lock_change(lock, &holder, self))
            break;
        SYS2(SYS_nanosleep, &pause, NULL);
    }
    return mask;
}

static inline void lock_give(struct lock *lock, uint64_t mask)
{
    __atomic_store_n(&lock->holder, 0, __ATOMIC_RELEASE);
    sys_set_signal_mask(mask);
}

/* Return the start position of an id in a hash table: ids that are consecutive, or multiples of any number, are spread
 * widely (the last steps of MurmurHash3). Pure. */
static inline uint32_t spread(uint32_t id, uint32_t places)
{
    id = (id ^ id >> 16) * 0x85ebca6bu;
    id = (id ^ id >> 13) * 0xc2b2ae35u;
    return (uint32_t)((uint64_t)(id ^ id >> 16) * places >> 32);
}

#define INLINE_STARTS 7u
#define DEEP_STARTS 65536u /* of all ids of a thread together */
#define INDEX_PLACES (2 * EKG_SLOTS_)

/* Beats ended in one interval, in ticks. All zero at its beginning; `min` is valid once there is a count. */
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
    uint32_t deep;          /* number, from 1, of the innermost begin beyond the inline ones */
    uint32_t untimed;       /* open beats without room for their begin */
    uint32_t taken;         /* open beats, the oldest, that other threads have ended; written under slots_lock */
    uint16_t taken_skips;   /* the same for skipped beats */
    uint16_t vain_entries;  /* failed entries of handlers that have interrupted a change of the slot */
    uint16_t vain_searches; /* ends without a begin in any thread, while the same bank was open */
    uint16_t vain_bank;     /* that bank, as in the mode */
    uint64_t was_open[2];   /* begin of the oldest beat that was open when the first one ended in the bank */
    struct bank banks[2];
};

_Static_assert(sizeof(struct bank) == 64, "a bank is a cache line");
_Static_assert(sizeof(struct slot) == sizeof(struct ekg_slot_), "struct ekg_slot_ is the public face of struct slot");

/* Additional data of a slot for skipped turns (thinning.h). The owner's; arrays of two are per bank. */
struct tally {
    uint64_t skipped[2]; /* skipped turns before recorded ones, by bank */
    uint64_t inner[2];   /* recorded beats and pulses within a turn */
    uint64_t settled;    /* time of the account's last settlement; 0: never */
    int64_t account;
    uint64_t missed; /* turns skipped since then */
    uint32_t recorded;
    uint32_t due;    /* turns skipped since the last recorded one, and to be skipped still */
    uint32_t chosen; /* the slot's `skip`, if set by the library; the interval thread's as well */
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
    uint32_t deep_used, deep_free; /* numbers from 1; head of the free list */
    bool deep_busy;                /* the owner, which a handler may interrupt, is changing that list */
    bool in_doubt;                 /* was not quiescent in time; do not wait for it again */
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

/* A hash table of displaced slots, whose place, id modulo EKG_SLOTS_, was already occupied: number of the slot, from 1.
 * At most half full. */
static inline uint16_t *record_index(struct record *record)
{
    return (uint16_t *)((char *)record_deep(record) + RECORD_DEEP_BYTES);
}

static inline struct tally *record_tally(struct record *record, const struct slot *slot)
{
    return (struct tally *)((char *)record_index(record) + RECORD_INDEX_BYTES) + (slot - record_slots(record));
}

/* Add one to a counter that only the caller writes. */
static inline void record_count(uint32_t *counter)
{
    __atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

/* Return the number of open beats that no thread has ended; and the begin of the oldest of them, if it is stored
 * inline. */
static inline uint32_t slot_open(const struct slot *slot)
{
    uint32_t taken = __atomic_load_n(&slot->taken, __ATOMIC_ACQUIRE);
    uint32_t depth = __atomic_load_n(&slot->depth, __ATOMIC_ACQUIRE) & ~SLOT_INSIDE;
    return depth > taken ? depth - taken : 0;
}

/* Return the number of open skipped beats that no thread has ended; for threads other than the owner an estimate, which
 * suffices. */
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

/* Return the calling thread's record, created or reused at its first beat; NULL if out of memory. Not
 * async-signal-safe: a thread's first beat is not for a handler. */
struct record *record_of_thread(void);

/* Return the slot of an id in a record, or NULL. For the owner, and for others under the protocol. */
struct slot *record_find(struct record *record, uint32_t id);

/* The same for the owner; if there is none, create one for `generation`; NULL if the record is full. */
struct slot *record_claim(struct record *record, uint32_t id, uint32_t generation);

/* Reserve room for a begin beyond the inline ones: return its number, or 0 if there is none. For the owner, like the
 * next. */
uint32_t record_acquire_deep(struct record *record);
void record_release_deep(struct record *record, uint32_t number);

/* Forget the slot's open beats. */
void record_forget_open(struct record *record, struct slot *slot);

/* Return the list of all records, including free ones. */
struct record *records_first(void);

/* Free the record of an ended thread, whose data has all been taken, for another thread. For the interval thread. */
void record_recycle(struct record *record);

/* In a forked child: forget all records. */
void records_forget(void);

/* At the library's unload: threads that end later must not call it. */
void records_stop(void);

/* Initialise, once, before the first beat; false if no key for thread ends is available. */
bool records_start(void);

/* Operations of other threads on a slot, and the owner's re-entry. Each takes slots_lock. */

/* Guards the operations of other threads on a slot, and the owner's re-entry. */
extern struct lock slots_lock;

/* For the owner: update the slot to the current generation, `on`, remove the beats that others have ended, and re-admit
 * the owner. False if `on` is no longer the current generation: its slots are being taken for the last time. */
bool slots_set_up(struct record *record, struct slot *slot, uint32_t on);

/* Count a beat without a record for its thread; the second function returns their number since its last call. */
void slots_count_dropped(void);
uint32_t slots_take_dropped(void);

/* Set the number of beats of an id to skip after a recorded one, in all threads. Thread-safe. */
void slots_set_rate(uint32_t id, uint32_t skip);

/* Lower that number in one thread from its value `from`; `chosen`: by the library. Thread-safe. */
void slots_lower(struct slot *slot, struct tally *tally, uint32_t from, uint32_t skip, bool chosen);

/* record_recycle, while no other thread accesses the record. */
void slots_recycle(struct record *record);

/* Make the owners of all slots take the slow path before their next beat. */
void slots_revoke_all(void);

/* Surround a fork, in the forking thread (the second function in parent and child), so that no other thread is changing
 * a record. */
uint64_t slots_before_fork(void);
void slots_after_fork(uint64_t mask);

/* Beats that begin in one thread and end in another. */

/* Match an end without a begin in the calling thread to the oldest open beat of the id in another thread. True: `start`
 * (ticks) is that beat's, for the caller to record. False: the end is skipped, or counted as unmatched or
 * dropped. */
bool cross_thread_end(struct record *record, struct slot *slot, uint64_t *start);

#endif

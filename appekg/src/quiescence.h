/* The protocol by which a thread writes its record without locks while others read it and take from it. Every change of
 * a bank, and every end, happens while the slot's depth contains SLOT_INSIDE; after setting that, the owner reads the
 * mode (the open bank) and the slot's `revoked`. These are plain stores and loads. A thread that has to keep the owner
 * out changes one of these two, and then awaits the slot's quiescence: the kernel makes all threads' stores visible,
 * after which the owner has either left, or has seen the change. The begin of an outermost beat needs none of this:
 * only the owner makes an idle slot busy, and others access only busy ones.
 *
 * - A bank is taken after the mode has opened the other one and the slot is quiescent; the owner returns to it when the
 *   mode opens it again. A slot that is not quiescent in time keeps its contents for the next interval.
 * - A beat of another thread is ended under slots_lock (record.h), with `revoked` set and the slot quiescent, by
 *   counting it in `taken`. The owner, which finds `revoked` set, takes that lock, removes the taken beats and clears
 *   both.
 * - A slot of an ended thread has no owner. Its changes are visible with the record's state.
 * - A handler that interrupts its own thread inside a slot leaves that slot alone. */
#ifndef EKG_QUIESCENCE_H
#define EKG_QUIESCENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "record.h"

/* True if the kernel cannot make the owners' stores visible (no membarrier), or if beats are ranges of NVTX: then
 * owners use fences. */
extern bool quiescence_needs_fence;

/* In ekg_shared_.mode, besides EKG_CAREFUL_: the second bank is open. */
#define MODE_BANK ((uint32_t)sizeof(struct bank))

/* Close the open bank in all records; return its number. The caller must await quiescence next. */
uint32_t quiescence_switch_banks(void);

/* Choose the code path, after a change of its conditions. */
void quiescence_choose_path(void);

/* Return the slot's open bank. The compiler must not recompute its address at each use. */
static inline struct bank *record_bank(struct slot *slot, uint32_t mode)
{
    struct bank *bank = (struct bank *)((char *)slot->banks + (mode & MODE_BANK));
    __asm__("" : "+r"(bank));
    return bank;
}

/* Register for the kernel's barriers. Called once by the interval thread: it may take a while. */
void quiescence_prepare(void);

/* The same before there is a second thread, when it takes no time. In an application's thread. */
void quiescence_prepare_early(void);

/* Make the owners' stores visible: the first half of awaiting quiescence. */
void quiescence_barrier(void);

/* The second half: wait until the owner, if it was inside, has left. False if it has not by `deadline_ns`
 * (CLOCK_MONOTONIC), because it has no processor, or a handler has jumped out of the slot. After such a timeout the
 * thread's slots are not waited for again until they have been quiescent. */
bool quiescence_await(struct record *record, const struct slot *slot, uint64_t deadline_ns);

#define LONGEST_AWAIT_NS 1000000000u

#endif

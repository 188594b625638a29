/* How a thread writes its record without locks while others look at it, and take from it: every change of
 * a bank, and every end, happens while the slot's depth says SLOT_INSIDE, and the owner looks at the mode (which bank
 * is open) and at the slot's `revoked` after it has said so. Both are plain stores and loads. Whoever wants to keep the
 * owner out changes one of these two, and then awaits the slot's quiescence: the kernel makes all threads' stores
 * visible, and after that the owner has either left, or has seen the change. The begin of an outermost beat needs none
 * of it: only the owner makes an idle slot busy, and others touch busy ones only.
 *
 * - A bank is taken after the mode has said that the other one is open, and the slot is quiescent; the owner comes back
 *   to it when the mode says so again. A slot that is not in time keeps what is in it for the next interval.
 * - A beat of another thread is ended under slots_lock (slots.h), with `revoked` set and the slot quiescent, by
 * counting it in `taken`. The owner, which finds `revoked` set, comes by that lock, removes what was taken and clears
 * both.
 * - A slot of an ended thread is nobody's. What it did is visible with the record's state.
 * - A handler that interrupts its own thread inside a slot leaves that slot alone. */
#ifndef EKG_QUIESCENCE_H
#define EKG_QUIESCENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "record.h"

/* True where the kernel cannot make the owners' stores visible (no membarrier): the owners do it themselves. */
extern bool quiescence_needs_fence;

/* In ekg_shared_.mode, besides EKG_CAREFUL_: the second bank is open. */
#define MODE_BANK ((uint32_t)sizeof(struct bank))

/* Closes the open bank in all records; returns its number. Quiescence is to be awaited next. */
uint32_t quiescence_switch_banks(void);

/* Chooses the path, after a change of what it depends on. */
void quiescence_choose_path(void);

/* The slot's open bank. The compiler must not work out its address anew at each use. */
static inline struct bank *record_bank(struct slot *slot, uint32_t mode)
{
    struct bank *bank = (struct bank *)((char *)slot->banks + (mode & MODE_BANK));
    __asm__("" : "+r"(bank));
    return bank;
}

/* Asks the kernel for the barriers. Called once by the interval thread: it may take a while. */
void quiescence_prepare(void);

/* The same, where it takes no time: before there is a second thread. In an application's thread. */
void quiescence_prepare_early(void);

/* Makes the owners' stores visible: the first half of awaiting quiescence. */
void quiescence_barrier(void);

/* The second half: waits until the owner, if it was inside, has left. False if it has not by `deadline_ns`
 * (CLOCK_MONOTONIC): it waits for a processor, among many threads, or a handler has jumped out of there. The slots of a
 * thread that has kept somebody waiting in vain are not waited for again before they have been seen quiescent. */
bool quiescence_await(struct record *record, const struct slot *slot, uint64_t deadline_ns);

#define LONGEST_AWAIT_NS 1000000000u

#endif

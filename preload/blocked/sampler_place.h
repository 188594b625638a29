/* Keeps the sampler off the processors of threads that wait for short times. On the same one, such a wait has mostly
 * ended once the sampler has woken up, and the thread can begin no other: all its short waits would be missed.
 *
 * For the thread that takes samples of waits: what moves is the calling thread, between the processors that it was
 * allowed to use. Async-signal-safe; one caller at a time, always the same thread. */
#ifndef INCPROF_SAMPLER_PLACE_H
#define INCPROF_SAMPLER_PLACE_H

#include <stdint.h>
#include <sys/types.h>

/* Begin, in a new thread: the processors it may use now are those it is allowed to use. */
void sampler_place_begin(void);

/* Look at the processor of a thread that waits for short times, if that is due. */
void sampler_place_note(pid_t tid, uint64_t now_ns);

/* After a round: move, if the threads noted in it are elsewhere than before. */
void sampler_place_choose(uint64_t now_ns);

#endif

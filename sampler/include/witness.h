/* Whether a signal was sent to this process alone, or to all of its group: a process of the same group, which does
 * nothing else, has all signals blocked and tells which came to it. kill(-group) reaches the youngest process first, so
 * that what this one has got, the witness has by then.
 *
 * Not async-signal-safe; one thread. */
#ifndef SAMPLER_WITNESS_H
#define SAMPLER_WITNESS_H

#include <stdint.h>
#include <sys/types.h>

struct witness {
    pid_t pid;  /* 0: there is none */
    int socket; /* to it */
};

/* The bit of a signal. */
#define WITNESSED(number) ((uint64_t)1 << ((number) - 1))

/* All signals are blocked before. Without a process there is no witness, and nothing is witnessed. */
void witness_start(struct witness *witness);

/* Which signals have come to it since it was asked last. */
uint64_t witness_ask(struct witness *witness);

void witness_end(struct witness *witness);

#endif

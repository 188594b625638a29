/* How soon the sampler has a processor when a row is due. Changes this thread; async-signal-safe. */
#ifndef SAMPLER_PUNCTUAL_H
#define SAMPLER_PUNCTUAL_H

#include <stdint.h>

/* As a real-time process where that is permitted. The program has been forked already. */
void punctual_ask(uint64_t interval_ns);

/* As others have it, once work takes so long that they would be kept waiting. */
void punctual_end_if_long(uint64_t work_ns);

#endif

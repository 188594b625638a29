/* Where each thread's CPU time goes: the handler of the ticks, which unwinds the stack and puts a sample into the ring.
 */
#ifndef INCPROF_SAMPLER_H
#define INCPROF_SAMPLER_H

#include <stdbool.h>

#include "ring.h"

/* Installs the signal handler. False after one line on stderr. Once, before the first thread starts. */
bool sampler_start(void);

/* Takes the thread's last sample and its timer away. Async-signal-safe; called by the thread itself. */
void sampler_end_thread(struct thread *thread);

#endif

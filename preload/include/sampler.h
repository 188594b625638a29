/* Where each thread's CPU time goes: the handler of the ticks, which unwinds the stack and puts a sample into the ring.
 */
#ifndef INCPROF_SAMPLER_H
#define INCPROF_SAMPLER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "ring.h"
#include "ticker.h"

/* Installs the signal handler. False after one line on stderr. Once, before the first thread starts. */
bool sampler_start(const struct config *config);

/* Takes the thread's last sample and its timer away. Async-signal-safe; called by the thread itself. */
void sampler_end_thread(struct thread *thread);

/* The application's own action for our signal. Not thread-safe against itself, like sigaction. */
void sampler_exchange_action(const struct sigaction *action, struct sigaction *old);

#endif

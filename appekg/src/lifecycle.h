/* When heartbeats run: from the first beat or ekg_init to ekg_finalize or the end of the process. */
#ifndef EKG_LIFECYCLE_H
#define EKG_LIFECYCLE_H

#include <stdbool.h>

#include "appekg.h"

/* Starts what has not been started, also in a forked child. False when there are no heartbeats (any more). May be
 * called from several threads; not async-signal-safe. */
bool lifecycle_start(const struct ekg_options *options);

/* Does something before the first beat of the process, and keeps a first beat of another thread waiting meanwhile.
 * False when it has been. Not async-signal-safe. */
bool lifecycle_while_idle(void (*work)(void));

#endif

/* The calls that block signals or wait for them, put in front of libc's. */
#ifndef INCPROF_SIGNAL_MASKS_H
#define INCPROF_SIGNAL_MASKS_H

/* A signal that the calling thread has hidden may have been claimed: then it is blocked for real. Async-signal-safe. */
void signal_masks_follow(void);

#endif

/* Whether this is the process whose memory this is. A vfork child runs in its parent's memory, with a table of signal
 * actions, a mask and files of its own: what it asks for goes to the kernel, and nothing of ours may be written. What
 * bare system calls have made behind libc's back (clone, fork) counts as one too: it has none of our threads.
 *
 * Async-signal-safe and thread-safe, but for vfork_begin and vfork_end. */
#ifndef RUNTIME_VFORK_H
#define RUNTIME_VFORK_H

#include <stdbool.h>

/* The calling process is the one: at the start, and in a forked child. */
void vfork_begin(void);

/* No: at most one system call. False before vfork_begin and after vfork_end. */
bool vfork_is_child(void);

/* The program is about to forbid itself system calls: none is made for this any more. */
void vfork_end(void);

#endif

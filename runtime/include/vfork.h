/* Detection of vfork children. A vfork child runs in its parent's memory, but has its own signal actions, mask and
 * files: its requests go to the kernel, and none of our memory may be written. A process created by a bare system call
 * (clone, fork), unknown to libc, counts as one too: it has none of our threads.
 *
 * Async-signal-safe and thread-safe, except vfork_begin and vfork_end. */
#ifndef RUNTIME_VFORK_H
#define RUNTIME_VFORK_H

#include <stdbool.h>

/* Register the calling process as the memory's owner, at the start and in a forked child. */
void vfork_begin(void);

/* Return whether the calling process is not the owner; at most one system call. False before vfork_begin and after
 * vfork_end. */
bool vfork_is_child(void);

/* Stop making system calls for this: the program is about to restrict its own. */
void vfork_end(void);

#endif

/* Processes that run already: all their threads, and what they have started. One thread at a time. */
#ifndef ATTACH_RUNNING_H
#define ATTACH_RUNNING_H

#include <sys/types.h>

#include "events.h"

/* Follows the process that the recording is about, whose program is `exe`, and for whose first thread the events have
 * been opened. 0 or negative errno. */
int running_follow(struct events *events, pid_t pid, const char *exe);

/* Then, all processes that it has started, and those that these have. One that cannot be followed costs a line. */
void running_follow_descendants(struct events *events, pid_t pid);

#endif

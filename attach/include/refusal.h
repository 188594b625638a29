/* Why the kernel does not let a process be recorded, and what helps. */
#ifndef ATTACH_REFUSAL_H
#define ATTACH_REFUSAL_H

#include <sys/types.h>

/* One line on stderr; `error` is negative errno. `pid`: of a process that runs, or 0. */
void refusal_say(int error, pid_t pid);

#endif

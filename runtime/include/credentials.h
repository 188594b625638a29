/* Users, groups and capabilities belong to threads. libc changes those of all that it knows at once; the interval
 * thread goes with them by itself. */
#ifndef RUNTIME_CREDENTIALS_H
#define RUNTIME_CREDENTIALS_H

#include "buffer.h"

enum credentials { CREDENTIALS_SAME, CREDENTIALS_CHANGED, CREDENTIALS_REFUSED };

/* Gives the calling thread the real, effective and saved users and groups, the supplementary groups, and the permitted,
 * effective and inheritable capabilities of the one whose /proc/<..>/status this is, as far as it has not got them.
 * REFUSED if it can not, or if it has more rights than that one. `own`: the calling thread's status, as it was last
 * seen here; empty before the first call. For threads that libc does not know. */
enum credentials credentials_follow(struct buffer *own, const char *status);

#endif

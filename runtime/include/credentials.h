/* Users, groups and capabilities belong to threads. libc changes those of all that it knows at once; the interval
 * thread goes with them by itself. */
#ifndef RUNTIME_CREDENTIALS_H
#define RUNTIME_CREDENTIALS_H

#include <stdbool.h>

/* Gives the calling thread the real, effective and saved users and groups, the supplementary groups, and the permitted,
 * effective and inheritable capabilities of the one whose /proc/<..>/status this is, as far as it has not got them.
 * False if it can not, or if it has more rights than that one. For the interval thread alone. */
bool credentials_follow(const char *status);

/* Another thread is going to call it. */
void credentials_forget(void);

#endif

/* The kernel's own function that reads a clock without a system call. libc's wrapper of it is not for threads without
 * libc's memory: before glibc 2.31 it looks there for what its pointers are disguised by, and sanitizers' wrapper looks
 * for its thread. */
#ifndef RUNTIME_VDSO_H
#define RUNTIME_VDSO_H

#include <time.h>

/* 0 or negative errno, as clock_gettime of the kernel. Found when the library is loaded; until then, and where there is
 * none, a system call. Async-signal-safe and thread-safe. */
extern int (*vdso_clock_gettime)(clockid_t clock, struct timespec *now);

#endif

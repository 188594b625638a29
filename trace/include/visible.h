/* Which of this library's names the loader finds. Where nobody else defines them, a program that looks for an MPI, or
 * for a function that only newer ones have, is to find none. What dlopen loads may bring an MPI and be linked with
 * these names at once: while it is under way, the loader asks about each.
 *
 * Thread-safe; not async-signal-safe. */
#ifndef TRACE_VISIBLE_H
#define TRACE_VISIBLE_H

#include <stdint.h>

/* They come before the functions of that name, which they return. */
void *trace_before_dlopen(void) __attribute__((visibility("hidden")));
void *trace_before_dlsym(void *handle, const char *name, const char *return_address)
    __attribute__((visibility("hidden")));

/* What the loader asks: where the name leads, or NULL. */
void *trace_choose(uint32_t name) __attribute__((visibility("hidden")));

#endif

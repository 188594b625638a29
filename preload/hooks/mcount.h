/* What the entry stubs (mcount_*.S) leave to C. */
#ifndef INCPROF_MCOUNT_H
#define INCPROF_MCOUNT_H

#include <stdint.h>

/* The stubs come here when their fast path finds no slot: a new arc, a full table or an unknown thread.
 * Async-signal-safe: signals are blocked while a slot is claimed, so a handler that calls instrumented functions
 * cannot claim it too. Callable from any thread. */
void incprof_count_slow(uint64_t from, uint64_t self) __attribute__((visibility("hidden")));

#endif

/* The memory of a harness. Not thread-safe. */
#ifndef FUZZ_WATCHED_H
#define FUZZ_WATCHED_H

#include <stddef.h>

/* At most so many bytes from here on, or the harness fails. */
void watched_allow(size_t bytes);

/* As sys_alloc and sys_free. */
void *watched_alloc(size_t bytes);
void watched_free(void *memory, size_t bytes);

#endif

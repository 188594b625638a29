/* Where assembly without call frame information keeps its return address: BLAS kernels, codecs. x86-64. */
#ifndef INCPROF_RETURN_SEARCH_H
#define INCPROF_RETURN_SEARCH_H

#include <stdbool.h>

#include "unwind.h"

/* For a cursor at a leaf that no rules lead out of: the frame of its caller. It is taken only where a call comes before
 * the return address, and where rules lead on from there by calls alone.
 * Async-signal-safe and thread-safe, as all of unwind.h; code is read through the kernel too. */
bool return_search(struct cursor *cursor, struct frame *caller);

#endif

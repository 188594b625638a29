/* Libraries that are nobody's own code. */
#ifndef INCPROF_SHARED_CODE_H
#define INCPROF_SHARED_CODE_H

#include <stdbool.h>

/* Whether the object at this path is one of the libraries that programs of any kind share: of the C library, compilers'
 * run-times, MPI and what it stands on, linear algebra, transforms, file formats of numbers, GPU drivers. Its time is
 * that of the function that called it. Async-signal-safe. */
bool shared_code_is(const char *path);

/* Whether threads begin in this object for others, whose threads they are: the C library, the loader, libstdc++.
 * Async-signal-safe. */
bool shared_code_begins_threads(const char *path);

#endif

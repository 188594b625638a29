/* When what was found out about loaded code stops being true: a library that is closed leaves its addresses to others.
 */
#ifndef SELFANALYZE_CLOSES_H
#define SELFANALYZE_CLOSES_H

#include <stdint.h>

/* A number, not 0, that differs after each unloading: what was found out about code that is running is true for as long
 * as it stays. Without a system call or a lock, but while a dlclose is under way: then the loader's lock for the list
 * of objects is taken, which is not held while destructors run. Those may be waiting for the caller. Thread-safe. */
uint64_t closes_epoch(void);

/* dlclose for a handle of something that stays loaded: the number remains. */
int closes_nothing(void *handle);

#endif

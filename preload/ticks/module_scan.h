/* When to look for modules that the program has loaded: soon after something unknown was seen, ever less often if in
 * vain.
 */
#ifndef INCPROF_MODULE_SCAN_H
#define INCPROF_MODULE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* A path, or a call, ended in unknown code: look soon. Async-signal-safe and thread-safe. */
void module_scan_request(void);

/* Whether somebody has, and nobody has looked since. */
bool module_scan_is_wanted(void);

/* The next look may come at once. Before the interval thread is there. */
void module_scan_begin(void);

/* Looks, whenever the last look was. Interval thread, under the lock. */
void module_scan_now(void);

/* The loader has unloaded what so many ranges of the current map show; 0: it is not known. Thread-safe. */
void module_scan_expect(size_t gone);

/* After that: leaves out what is gone, or looks. Interval thread, under the lock. */
void module_scan_after_unload(void);

/* Looks, if somebody has asked and it is time to: some 50 us. Interval thread, under the lock. */
void module_scan_if_wanted(void);

#endif

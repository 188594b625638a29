/* Schedule of scans for newly loaded modules: soon after a sample in unknown code, and less and less often if scans
 * find nothing. */
#ifndef INCPROF_MODULE_SCAN_H
#define INCPROF_MODULE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* Request a scan soon: a call path, or a call, ended in unknown code. Async-signal-safe and thread-safe. */
void module_scan_request(void);

/* Return whether a request is pending. */
bool module_scan_is_wanted(void);

/* Allow the next scan at once. Before the interval thread starts. */
void module_scan_begin(void);

/* Scan now, whenever the last scan was. Interval thread, under the lock. */
void module_scan_now(void);

/* Record that the loader has unloaded objects with `unloaded` ranges of the current map; 0: number not known.
 * Thread-safe. */
void module_scan_expect(size_t unloaded);

/* After an unload: drop the unmapped ranges, or scan. Interval thread, under the lock. */
void module_scan_after_unload(void);

/* Scan if a request is pending and due; takes some 50 us. Interval thread, under the lock. */
void module_scan_if_wanted(void);

#endif

/* Libraries that come and go: what was kept by an address, or as missing, may be wrong then. */
#ifndef TRACE_LOADER_H
#define TRACE_LOADER_H

#include <stdint.h>

/* How often libraries have gone so far, without asking the loader. Thread-safe and async-signal-safe. */
uint32_t loader_unloads(void);

/* How many libraries have come so far. Thread-safe; not async-signal-safe. */
unsigned long long loader_loads(void);

/* The next dlclose. Thread-safe; not async-signal-safe. */
int loader_close(void *handle);

#endif

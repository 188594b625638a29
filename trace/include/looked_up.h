/* MPI functions that a program has looked up in a library (dlopen, dlsym): what it gets is the way into this one.
 *
 * Thread-safe; not async-signal-safe. */
#ifndef TRACE_LOOKED_UP_H
#define TRACE_LOOKED_UP_H

/* The dlsym that is not this library's. */
typedef void *dlsym_function(void *handle, const char *name);
dlsym_function *looked_up_dlsym(void);

/* What dlsym returns for a name that may be MPI's. */
void *looked_up(void *handle, const char *name);

#endif

/* What a name stands for where it is called: what the loader would find for that object, were this library not there.
 * Thread-safe; not async-signal-safe (the loader's locks). */
#ifndef TRACE_SCOPE_H
#define TRACE_SCOPE_H

#include <stdint.h>

struct scope {
    uint64_t low, size; /* of the code that has this scope: a segment of an object, or a page of code that has none */
    void *object;       /* as the loader's handle, or NULL: the program, or no object */
};

void scope_enter(struct scope *scope, const void *return_address);

/* A function, or NULL where nothing that is loaded defines the name: it is looked for in what the program was
 * started with, in what this object sees, in what all see, and then in all objects, as a function that calls MPI last
 * may have left its frame to it, and underlinked libraries count on others. */
void *scope_find(const struct scope *scope, const char *name);

void scope_leave(struct scope *scope);

#endif

/* The processes that this one comes from. */
#ifndef RUNTIME_ANCESTORS_H
#define RUNTIME_ANCESTORS_H

#include <sys/types.h>

/* The nearest one that was not started as a rank, with a variable of this name: what has started the ranks of this
 * node, whatever stands between it and a rank (a shell, a tool that measures). Where that cannot be told, the nearest
 * of which it is not known. Thread-safe. */
pid_t ancestor_without(const char *variable);

#endif

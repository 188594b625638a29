/* The table of `incprof sample --list`. */
#ifndef SAMPLER_LIST_H
#define SAMPLER_LIST_H

#include "columns.h"

/* Prints on stdout what can be had of the chosen events, and why not. Exit status. */
int list_events(struct columns *columns, const struct event *const *chosen, size_t count, struct target target);

#endif

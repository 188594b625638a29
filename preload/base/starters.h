/* Programs that only start others, or show them to somebody: no pattern such as * means them. */
#ifndef INCPROF_STARTERS_H
#define INCPROF_STARTERS_H

#include <stdbool.h>

/* By the name of the program's file. Pure. */
bool starter_is(const char *name);

#endif

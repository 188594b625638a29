/* Which of the OpenMP run-times in a process an object of the program belongs to.
 *
 * A process may hold several: wheels of Python bring a copy each, plug-ins have one of their own, and code of GCC and
 * Clang has different ones. Regions that one of them starts while the code in them asks another one for its thread's
 * number compute something else. The object must get the function that the loader would have given it without us. */
#ifndef SELFANALYZE_BINDING_H
#define SELFANALYZE_BINDING_H

#include "object.h"

/* The function `name` for code in `object`: the one that the loader finds behind ours, or that of the object's own
 * scope; where both are there, the run-time that the object is bound to by other names. NULL if there is none. NULL
 * as `object` is code that no file holds. Takes the loader's locks; dlerror has nothing to say afterwards. */
void *binding_find(const char *name, const struct object *object);

/* For code that has none by binding_find, whoever has loaded it: the run-time that it is bound to by other names, else
 * the only one in the process that has such a function. Where there are several, the first one, and a line once. */
void *binding_guess(const char *name, const struct object *object);

/* The library that the function lies in stays loaded from here on. False if that cannot be had. */
bool binding_hold(const void *function);

#endif

/* What a loop consists of, by which it is known again. For the watched thread. */
#ifndef SELFANALYZE_MEMBERS_H
#define SELFANALYZE_MEMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "regions.h"

/* The region of a loop whose iteration is these tokens: functions, and MOST_FUNCTIONS and more for the regions of loops
 * within it. It is the same for the same set of functions, in whatever order and however often they come. NULL if a
 * loop within it has all of them, or if there is no room. Within a change. */
struct region *members_region(const uint16_t *tokens, size_t count);

/* In a forked child: there are none. */
void members_forget(void);

#endif

/* What differs between processors: the rest of the library asks here. */
#ifndef INCPROF_MACHINE_H
#define INCPROF_MACHINE_H

#if defined(__x86_64__)
#include "machine_x86_64.h"
#elif defined(__aarch64__)
#include "machine_aarch64.h"
#else
#error "this architecture has no machine_NAME.h, mcount_NAME.S and call_cost_NAME.S yet"
#endif

#endif

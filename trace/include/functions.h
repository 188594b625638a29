/* Numbers of the traced functions, in the order of the two tables. */
#ifndef TRACE_FUNCTIONS_H
#define TRACE_FUNCTIONS_H

enum function_number {
#define CALL_(name, lower, kind, ...) FUNCTION_##name,
#include "every_call.h"
    FUNCTION_COUNT
};

#endif

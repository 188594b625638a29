/* Which build this is: a library of another release may lack functions, or have other structures. */
#include "native.h"

NATIVE_API const char *incprof_native_version(void);

const char *incprof_native_version(void)
{
    return INCPROF_VERSION;
}

/* Version of the build: a library of another release may lack functions, or have different structures. */
#include "native.h"

NATIVE_API const char *incprof_native_version(void);

const char *incprof_native_version(void)
{
    return INCPROF_VERSION;
}

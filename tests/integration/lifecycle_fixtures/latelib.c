/* The library that late.c loads: 8 ms of its own code per call, in a loop that calls nothing (-DLEAF) or not. */
#include "host.h"

#ifdef LEAF
void late(int milliseconds)
{
    for (long i = 0; i < milliseconds * 1000000L; i++)
        sink += (unsigned long)i;
}
#else
void late(int milliseconds)
{
    burn(milliseconds);
}
#endif

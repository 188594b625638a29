/* The library that late.c loads: 20 ms of its own code per call. */
#include "host.h"

void late(int milliseconds)
{
    burn(milliseconds);
}

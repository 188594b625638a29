/* What the others exec: 33 calls of tick, 60 ms, status 6. */
#include "host.h"

int main(void)
{
    work(33);
    burn(60);
    puts("child");
    return 6;
}

/* What the others exec: 33 calls of tick, 150 ms, status 6. */
#include "host.h"

int main(void)
{
    work(33);
    burn(150);
    puts("child");
    return 6;
}

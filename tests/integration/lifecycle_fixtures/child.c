/* What the others exec: 33 calls of tick, 30 ms (less than any of them), status 6. */
#include "host.h"

int main(void)
{
    work(33);
    burn(30);
    puts("child");
    return 6;
}

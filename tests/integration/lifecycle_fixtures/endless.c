/* Runs until it is killed. */
#include "host.h"

int main(void)
{
    for (;;) {
        work(100);
        burn(5);
    }
}

/* 500 calls of tick, and then, below robust_hold, CPU time until a thread is held and the interval thread has slept
 * argv[1] times more; with argv[2], until it is held no longer as well. */
#include "host.h"

#include "held.h"

int main(int argc, char **argv)
{
    work(500);
    burn_until_held();
    burn_for_intervals(atol(argv[1]));
    make_hold_file("done");
    if (argc > 2)
        burn_until_file("over");
    burn(100);
    return 3;
}

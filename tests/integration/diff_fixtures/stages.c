/* Three stages of about 0.3 s each; -DSOLVE_PERCENT=400 makes the second take four times as long for the same calls. */
#include "../fixtures/burn.h"
#ifndef SOLVE_PERCENT
#define SOLVE_PERCENT 100
#endif

NOINLINE static void fill(void)
{
    BURN(200000L);
}

NOINLINE static void solve(void)
{
    BURN(300000L * SOLVE_PERCENT / 100);
}

NOINLINE static void verify(void)
{
    BURN(250000L);
}

int main(void)
{
    for (int i = 0; i < 200; i++)
        fill();
    for (int i = 0; i < 140; i++)
        solve();
    for (int i = 0; i < 160; i++)
        verify();
    return 0;
}

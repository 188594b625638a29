/* 2 000 beats of which one in 100 is recorded; the program stops itself in the middle of one, which is recorded. */
#include <signal.h>

#include "appekg.h"

#define BEATS 2000
#define FACTOR 100

int main(void)
{
    ekg_rate(1, FACTOR);
    for (int i = 0; i < BEATS; i++) {
        EKG_SCOPE(1);
        if (i % FACTOR == 0 && i == BEATS / 2)
            raise(SIGSTOP);
    }
    return 0;
}

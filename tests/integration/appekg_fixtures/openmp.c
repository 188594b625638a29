/* An OpenMP program: 40 parallel loops of 100 steps, each step a beat of id 1 with one of id 2 in it. */
#include <omp.h>
#include <stdio.h>

#include "appekg.h"

int main(void)
{
    for (int loop = 0; loop < 40; loop++) {
        EKG_SCOPE(3);
#pragma omp parallel for schedule(dynamic) num_threads(1 + loop % 8)
        for (int step = 0; step < 100; step++) {
            EKG_SCOPE(1);
            ekg_begin(2);
            ekg_end(2);
        }
    }
    return 0;
}

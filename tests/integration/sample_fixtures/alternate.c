/* alternate COMPUTE WRITE TIMES: seconds of work, then of writes between short sleeps; prints how long each round took. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    static char bytes[65536];
    volatile double sum = 0;
    int null = open("/dev/null", O_WRONLY), times = argc == 4 ? atoi(argv[3]) : 0;
    for (int i = 0; i < times; i++) {
        double start = now(), middle = start + atof(argv[1]), end = middle + atof(argv[2]);
        while (now() < middle)
            for (int k = 0; k < 1000; k++)
                sum += k;
        while (now() < end) {
            if (write(null, bytes, sizeof bytes) < 0)
                return 1;
            usleep(1000);
        }
        printf("%.6f\n", now() - start);
    }
    return 3;
}

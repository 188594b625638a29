/* What is marked signal-safe allocates nothing: malloc and its like end the program once detectors are made. */
#include <dpd.h>
#include <dpd_values.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int forbidden;

void *__libc_malloc(size_t size);
void *malloc(size_t size)
{
    if (forbidden) {
        static const char text[] = "malloc\n";
        if (write(2, text, sizeof text - 1) < 0)
            _exit(4);
        _exit(3);
    }
    return __libc_malloc(size);
}

int main(void)
{
    struct dpd_options options;
    memset(&options, 0, sizeof options);
    options.window = 100;
    options.capacity = 2000;
    options.tolerance = 1;
    struct dpd *dpd = dpd_create(&options), *copy = dpd_create(&options);
    struct dpd_values *values = dpd_values_create(NULL);
    int64_t expected = 0;
    int32_t period = 0, value_period = 0;
    double distances[99];
    free(malloc(1));
    forbidden = 1;
    for (int i = 0; i < 30000; i++) {
        if (i % 5000 == 0)
            dpd_resize(dpd, 100 + i % 1900);
        dpd_event(dpd, i % 90 + (i % 1717 == 0), &period);
        dpd_values_sample(values, i % 40, &value_period);
        dpd_predict(dpd, 3, &expected);
    }
    dpd_copy(copy, dpd);
    dpd_event(copy, 1, &period);
    dpd_values_distances(values, distances, 99);
    dpd_values_resize(values, 50, 50);
    forbidden = 0;
    printf("%d %d %.0f\n", period, value_period, distances[39]);
    dpd_destroy(dpd);
    dpd_destroy(copy);
    dpd_values_destroy(values);
    return 0;
}

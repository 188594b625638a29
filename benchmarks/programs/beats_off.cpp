// Every call that -DEKG_OFF takes out. Valid C as well. benchmarks/heartbeats.py also compiles it without the lines
// that call the library.
#include <appekg.h>

double work(double *data, int count);

double phase(double *data, int count)
{
    double sum = 0;
    ekg_init(NULL);
    ekg_name(1, "phase");
    ekg_rate(1, 10);
    for (int i = 0; i < count; i++) {
        EKG_SCOPE(1);
        if (data[i] < 0)
            continue;
        ekg_begin(2);
        sum += work(data, i);
        ekg_end(2);
        ekg_pulse(3);
    }
    ekg_disable();
    ekg_enable();
    ekg_finalize();
    return sum;
}

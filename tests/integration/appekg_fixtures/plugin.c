/* A shared object with heartbeats, of which the library may be a part. */
#include <appekg.h>

void plugin_work(void)
{
    for (int i = 0; i < 10; i++) {
        ekg_begin(1);
        ekg_end(1);
    }
}

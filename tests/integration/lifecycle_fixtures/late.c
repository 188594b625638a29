/* Loads argv[1], a -pg library, halfway through, and calls its `late` 20 times, or for argv[2] ms of CPU time. */
#include "host.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
    burn(60);
    void *library = dlopen(argv[1], RTLD_NOW);
    void (*late)(int) = library != NULL ? (void (*)(int))dlsym(library, "late") : NULL;
    const double end = argc > 2 ? cpu_s() + atof(argv[2]) / 1e3 : 0;
    for (int i = 0; late != NULL && (argc > 2 ? cpu_s() < end : i < 20); i++)
        late(8);
    puts(late != NULL ? "loaded" : dlerror());
    return 0;
}

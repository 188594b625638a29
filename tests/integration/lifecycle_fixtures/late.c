/* Loads argv[1], a -pg library, halfway through, and calls its `late`. */
#include "host.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
    (void)argc;
    burn(60);
    void *library = dlopen(argv[1], RTLD_NOW);
    void (*late)(int) = library != NULL ? (void (*)(int))dlsym(library, "late") : NULL;
    for (int i = 0; i < 20 && late != NULL; i++)
        late(8);
    puts(late != NULL ? "loaded" : dlerror());
    return 0;
}

/* A library is closed, and then what is mapped cannot be read. Argument: the library. */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/resource.h>

#include "modules.h"

int main(int argc, char **argv)
{
    const struct rlimit none = {0, 0};
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    uint64_t function = (uint64_t)dlsym(library, "cos");
    modules_scan();
    printf("known %d", modules_find(modules_current(), function) != NULL);
    dlclose(library);
    setrlimit(RLIMIT_NOFILE, &none);
    modules_scan();
    printf(" unreadable %d left %d", modules_are_unreadable(), modules_find(modules_current(), function) != NULL);
    printf(" others %d\n", modules_find(modules_current(), (uint64_t)&modules_scan) != NULL);
    return 0;
}

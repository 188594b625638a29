/* Another preloaded tool: prints at the end how often a loaded library was looked up. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

static int lookups;

void *dlopen(const char *path, int mode)
{
    void *(*next)(const char *, int) = dlsym(RTLD_NEXT, "dlopen");
    lookups += (mode & RTLD_NOLOAD) != 0;
    return next(path, mode);
}

static __attribute__((destructor)) void at_exit(void)
{
    printf("lookups %d\n", lookups);
}

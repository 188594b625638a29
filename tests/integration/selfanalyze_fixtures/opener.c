/* Opens the library argv[1], which alone brings the OpenMP run-time. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **words)
{
    void *library = count > 1 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(int) = library != NULL ? (int (*)(int))dlsym(library, "plugin_run") : NULL;
    if (run == NULL)
        return 1;
    printf("iterations %d\n", run(100) / 2);
    return 0;
}

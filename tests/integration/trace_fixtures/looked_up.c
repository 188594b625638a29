/* Opens libraries, and uses the MPI of the first by pointers, as interpreters do. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *handle[2] = {NULL, NULL};
    int is_initialized = -1;
    for (int i = 1; i < argc && i <= 2; i++)
        handle[i - 1] = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(handle[0], "MPI_Init");
    int (*initialized)(int *) = (int (*)(int *))dlsym(handle[0], "MPI_Initialized");
    int (*finalize)(void) = (int (*)(void))dlsym(handle[0], "PMPI_Finalize");
    int is_clean = dlerror() == NULL;
    if (init == NULL || initialized == NULL || finalize == NULL)
        return 1;
    init(NULL, NULL);
    initialized(&is_initialized);
    finalize();
    void *none = dlsym(handle[0], "MPI_No_such_function");
    printf("%d %d %d %d\n", is_clean, is_initialized, none == NULL, dlerror() != NULL);
    return 0;
}

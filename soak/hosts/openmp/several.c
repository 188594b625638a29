/* Calls libraries with parallel regions, each with a run-time of its own: `LIBRARY WAY ROUNDS SIZE ...`. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    for (int i = 1; i + 3 < count; i += 4) {
        void *library = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
        long (*sum)(int, int, int) = library != NULL ? (long (*)(int, int, int))dlsym(library, "team_sum") : NULL;
        if (sum == NULL)
            return puts("no library") < 0;
        printf("%ld\n", sum(atoi(words[i + 1]), atoi(words[i + 2]), atoi(words[i + 3])));
    }
    return 4;
}

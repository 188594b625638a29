/* Loads libraries and calls their functions: each argument is FILE:FUNCTION,FUNCTION,...; `-` instead of a function
 * closes the library, `+` puts something where it was, so that it lies elsewhere the next time. Prints each result. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static void *place;

static int call(void **library, const char *file, const char *word)
{
    if (*library == NULL && strcmp(word, "+") != 0)
        *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (*library == NULL && strcmp(word, "+") != 0)
        return fprintf(stderr, "%s\n", dlerror()), 1;
    if (strcmp(word, "+") == 0)
        return mmap(place, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED;
    if (strcmp(word, "-") == 0) {
        dlclose(*library);
        *library = NULL;
        return 0;
    }
    int (*function)(void) = (int (*)(void))dlsym(*library, word);
    if (function == NULL)
        return fprintf(stderr, "%s\n", dlerror()), 1;
    Dl_info info;
    if (dladdr((void *)function, &info) != 0)
        place = info.dli_fbase;
    printf("%d\n", function());
    return fflush(stdout);
}

int main(int count, char **arguments)
{
    void *libraries[16] = {NULL};
    char *files[16];
    for (int i = 1; i < count && i < 16; i++) {
        char *rest = arguments[i], *word;
        int which = 1;
        files[i] = strsep(&rest, ":");
        while (which < i && strcmp(files[which], files[i]) != 0)
            which++;
        while ((word = strsep(&rest, ",")) != NULL)
            if (call(&libraries[which], files[i], word) != 0)
                return 2;
    }
    return 0;
}

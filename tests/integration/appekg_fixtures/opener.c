/* Opens, uses and closes each shared object named by the arguments, as often as the first argument. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef OWN_BEATS
#include <appekg.h>
static void beat(void)
{
    ekg_begin(2);
    ekg_end(2);
}
#else
static void beat(void)
{
}
#endif

int main(int words, char **word)
{
    int rounds = words > 1 ? atoi(word[1]) : 0;
    for (int i = 0; i < rounds; i++) {
        beat();
        for (int k = 2; k < words; k++) {
            void *library = dlopen(word[k], RTLD_NOW | RTLD_LOCAL);
            void (*work)(void) = library != NULL ? (void (*)(void))dlsym(library, "plugin_work") : NULL;
            if (work == NULL) {
                puts(dlerror());
                return 1;
            }
            work();
            dlclose(library);
        }
    }
    puts("all closed");
    return 0;
}

/* A shared object that the static library is a part of stays loaded, as libappekg.so does (-z nodelete): a thread of
 * ours runs in it, and threads of the program end in it, also after a dlclose. That is done while it is loaded: a first
 * beat may come from a thread that the loader waits for. Who may touch what: nothing is kept. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libc.h"

static __attribute__((constructor)) void stay(void)
{
    int kept = errno;
    Dl_info program, own;
    bool is_known = dladdr((const void *)(uintptr_t)getauxval(AT_ENTRY), &program) != 0 &&
                    dladdr((const void *)(uintptr_t)stay, &own) != 0;
    if (is_known && own.dli_fbase != program.dli_fbase) {
        void *handle = dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        if (handle != NULL)
            dlclose(handle);
    }
    errno = kept;
}

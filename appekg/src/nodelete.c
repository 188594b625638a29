/* Keeps a shared object that contains the static library loaded, like libappekg.so (-z nodelete): a thread of ours runs
 * in it, and threads of the program end in it, even after a dlclose. This is done at load time: a first beat may come
 * from a thread for which the loader waits. Thread safety: no static state. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libc.h"

static __attribute__((constructor)) void keep_loaded(void)
{
    int saved_errno = errno;
    Dl_info program, own;
    bool is_known = dladdr((const void *)(uintptr_t)getauxval(AT_ENTRY), &program) != 0 &&
                    dladdr((const void *)(uintptr_t)keep_loaded, &own) != 0;
    if (is_known && own.dli_fbase != program.dli_fbase) {
        void *handle = dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        if (handle != NULL)
            dlclose(handle);
    }
    errno = saved_errno;
}

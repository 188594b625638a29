/* What the libraries have in common when a program first uses an interface. On that thread, where libc works.
 *
 * A failure costs the program nothing: one line, and the interface continues as without us. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>

#include "environment.h"
#include "fixed_text.h"
#include "gpu.h"
#include "launch.h"
#include "log.h"

bool gpu_start(const char *library, enum gpu_interface interface)
{
    log_start(library);
    environment_log_level("INCPROF_LOG");
    gpu_interface = interface;
    trace_start();
    int number = extension_start();
    launches_start(number);
    return number >= 0;
}

/* Return whether no other process of this launch has come here, of those that write into its directory. */
static bool is_first(enum gpu_state state)
{
    static struct launch launch;
    const char *job = environment_text("INCPROF_LAUNCH"); /* as the collector takes it */
    launch.job = job != NULL && *job != '+' ? job : NULL;
    if (!launch_identify(&launch, -1) || !launch_claim_directory(&launch, environment_text("INCPROF_DIR"), "gmon"))
        return true;
    text_append(launch.directory, sizeof launch.directory, "/.gpu-");
    text_append_number(launch.directory, sizeof launch.directory, state, 1);
    long fd = sys_open(launch.directory, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd >= 0)
        sys_close((int)fd);
    return fd != -EEXIST;
}

void gpu_refuse(enum gpu_state state, const char *why, const char *advice)
{
    char line[128] = "GPU activity is not recorded: ";
    extension_refuse(state);
    text_append(line, sizeof line, why);
    if (is_first(state))
        log_warn(line, advice);
}

bool find_functions(void *library, const char *const *names, size_t needed, void *table)
{
    bool has_all = library != NULL;
    for (size_t i = 0; library != NULL && names[i] != NULL; i++) {
        void *function = dlsym(library, names[i]);
        memcpy((char *)table + i * sizeof function, &function, sizeof function);
        has_all &= function != NULL || i >= needed;
    }
    return has_all;
}

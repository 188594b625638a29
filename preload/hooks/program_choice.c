/* Thread safety: `asked` is atomic. */
#define _GNU_SOURCE
#include "hooks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "collector.h"
#include "config.h"
#include "elf_file.h"
#include "launch.h"
#include "next.h"
#include "sys.h"

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0';
}

static bool is_named(const char *exe)
{
    const char *glob = getenv("INCPROF_EXE");
    const char *program = getenv("INCPROF_PROGRAM");
    if (!is_set("INCPROF_EXE"))
        return program != NULL && strcmp(program, exe) == 0;
    bool is_pattern = glob[strcspn(glob, "*?[")] != '\0';
    return launch_is_program(glob, exe) && !(is_pattern && starter_is(launch_basename(exe)));
}

/* Return whether the program is linked with -pg; it then starts its recording itself, a little later. */
static bool is_linked_with_pg(void)
{
    struct elf_file elf;
    if (!elf_open(&elf, "/proc/self/exe"))
        return false;
    bool is_linked = elf_imports(&elf, "__monstartup");
    elf_close(&elf);
    return is_linked;
}

#pragma weak on_exit /* missing in musl */

/* Return whether the program is recorded, and how its recording starts. */
static bool is_chosen(enum start *start)
{
    char exe[PATH_MAX];
    bool is_of_job = is_set("INCPROF_LAUNCH") && !is_set("INCPROF_EXE");
    if (on_exit == NULL || getauxval(AT_SECURE) != 0 ||
        (!is_of_job && !is_set("INCPROF_EXE") && !is_set("INCPROF_PROGRAM")))
        return false;
    long length = sys_readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (length <= 0)
        return false;
    exe[length] = '\0';
    bool is_main = is_named(exe);
    *start = is_main ? START_CHOSEN : START_OF_JOB;
    return (is_main || is_of_job) && !is_linked_with_pg();
}

static void on_end(int status, void *unused)
{
    (void)status, (void)unused;
    collector_note_buffers();
    collector_stop();
}

void chosen_start(void)
{
    static int asked;
    if (__atomic_exchange_n(&asked, 1, __ATOMIC_RELAXED) != 0)
        return;
    int saved_errno = errno;
    enum start start;
    /* Not atexit: it runs before the destructors of libraries that do not depend on this one. */
    if (is_chosen(&start) && on_exit(on_end, NULL) == 0)
        collector_start(start);
    errno = saved_errno;
}

__attribute__((constructor)) static void on_load(void)
{
    chosen_start();
}

/* Thread safety: `library` is written before main, and read from then on. */
#define _GNU_SOURCE
#include "closing_line.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "elf_file.h"
#include "fixed_text.h"
#include "launch.h"
#include "sys.h"

static const char *library; /* this library's path, as in LD_PRELOAD */

__attribute__((constructor)) static void on_load(void)
{
    Dl_info info;
    library = dladdr(&library, &info) != 0 ? info.dli_fname : NULL;
}

static bool is_program(const char *path)
{
    struct stat status;
    return SYS4(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0 && S_ISREG(status.st_mode) &&
           SYS3(SYS_faccessat, AT_FDCWD, path, 1 /* X_OK */) == 0;
}

/* Return whether `incprof record` has reported this program before the start. */
static bool is_reported(const char *path)
{
    struct stat status, reported;
    const char *program = getenv("INCPROF_PROGRAM");
    return program != NULL && SYS4(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0 &&
           SYS4(SYS_newfstatat, AT_FDCWD, program, &reported, 0) == 0 && status.st_dev == reported.st_dev &&
           status.st_ino == reported.st_ino;
}

/* Find the program as execvp does. */
static bool find_program(char *path, size_t size, const char *file)
{
    path[0] = '\0';
    if (strchr(file, '/') != NULL) {
        text_append(path, size, file);
        return is_program(path);
    }
    const char *at = getenv("PATH");
    for (size_t length; at != NULL && *at != '\0'; at += length + (at[length] == ':')) {
        length = strcspn(at, ":");
        if (length + strlen(file) + 2 > size)
            continue;
        memcpy(path, at, length);
        path[length] = '\0';
        text_append(path, size, "/");
        text_append(path, size, file);
        if (is_program(path))
            return true;
    }
    return false;
}

static const char *find_variable(char *const envp[], const char *name)
{
    size_t length = strlen(name);
    for (; envp != NULL && *envp != NULL; envp++)
        if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
            return *envp + length + 1;
    return "";
}

static bool is_of_other_rights(const char *path)
{
    struct stat status;
    if (SYS4(SYS_newfstatat, AT_FDCWD, path, &status, 0) != 0)
        return false;
    return ((status.st_mode & S_ISUID) != 0 && status.st_uid != (uid_t)SYS0(SYS_geteuid)) ||
           ((status.st_mode & S_ISGID) != 0 && status.st_gid != (gid_t)SYS0(SYS_getegid));
}

/* Return whether the program has no loader; the loader itself, started by its name, has none either. */
static bool is_static(const char *path)
{
    struct elf_file elf;
    if (strncmp(launch_basename(path), "ld-", 3) == 0 || !elf_open(&elf, path))
        return false;
    bool has_loader = elf_segment(&elf, PT_INTERP) != NULL;
    elf_close(&elf);
    return !has_loader;
}

static const char *find_obstacle(const char *path, char *const envp[])
{
    if (is_static(path))
        return is_reported(path) ? NULL : "statically linked, so LD_PRELOAD has no effect";
    if (is_of_other_rights(path))
        return is_reported(path) ? NULL : "setuid or setgid, so LD_PRELOAD has no effect";
    bool is_passed_on = strstr(find_variable(envp, "LD_PRELOAD"), library != NULL ? library : "") != NULL &&
                        *find_variable(envp, CLOSING_LINE_VARIABLE) != '\0';
    return is_passed_on ? NULL : "started without LD_PRELOAD or the variables of the recording";
}

void exec_target_report(const char *file, char *const envp[])
{
    char path[PATH_MAX];
    if (!closing_line_is_due() || file == NULL || !find_program(path, sizeof path, file))
        return;
    const char *obstacle = find_obstacle(path, envp);
    if (obstacle != NULL)
        closing_line_report_obstacle(path, obstacle);
}

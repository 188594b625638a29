/* Who may touch what: `process` is set by programs of one thread; the rest is files. */
#define _GNU_SOURCE
#include "jit_map.h"

#include <sys/stat.h>

#include "buffer.h"
#include "fixed_text.h"
#include "log.h"
#include "output.h"
#include "sys.h"

#define MOST_BYTES ((size_t)256 << 20)

static const struct jit_map_process *process; /* or NULL: this one */

void jit_map_use(const struct jit_map_process *of)
{
    process = of;
}

void jit_map_name(char name[JIT_MAP_NAME])
{
    name[0] = '\0';
    text_append(name, JIT_MAP_NAME, "perf-");
    text_append_number(name, JIT_MAP_NAME, (uint64_t)(process != NULL ? process->inner : SYS0(SYS_getpid)), 1);
    text_append(name, JIT_MAP_NAME, ".map");
}

static uid_t owner(void)
{
    return process != NULL ? process->owner : (uid_t)SYS0(SYS_geteuid);
}

/* Anybody may put anything into that directory: a link, a pipe or another user's file is none. */
static int open_map_in(const char *folder, size_t *size)
{
    char name[JIT_MAP_NAME];
    char path[PATH_MAX];
    struct stat status;
    jit_map_name(name);
    output_name(path, folder, name, "");
    int fd = sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return fd;
    if (SYS4(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) == 0 && S_ISREG(status.st_mode) &&
        status.st_uid == owner() && (size_t)status.st_size <= MOST_BYTES) {
        *size = (size_t)status.st_size;
        return fd;
    }
    sys_close(fd);
    return -EACCES;
}

/* Another process may have a root of its own, as long as it is there. */
static int open_map(size_t *size)
{
    char folder[48] = "/proc/";
    if (process == NULL)
        return open_map_in("/tmp", size);
    text_append_number(folder, sizeof folder, (uint64_t)process->pid, 1);
    text_append(folder, sizeof folder, "/root/tmp");
    int fd = open_map_in(folder, size);
    return fd >= 0 ? fd : open_map_in("/tmp", size);
}

bool jit_map_is_there(void)
{
    size_t size;
    int fd = open_map(&size);
    if (fd >= 0)
        sys_close(fd);
    return fd >= 0;
}

void jit_map_keep(const char *directory)
{
    char name[JIT_MAP_NAME];
    char folder[PATH_MAX];
    char path[PATH_MAX];
    struct buffer text = {0};
    size_t size = 0;
    int fd = open_map(&size);
    if (fd < 0)
        return;
    if (buffer_reserve(&text, size) && sys_pread_all(fd, text.data, size, 0)) {
        text.length = size;
        jit_map_name(name);
        output_name(folder, directory, "symbols", "");
        output_name(path, folder, name, "");
        sys_mkdir(folder, 0777);
        if (output_write_file(path, &text, false) != 0)
            log_debug("no copy of the names of code that was made", path);
    }
    sys_close(fd);
    buffer_free(&text);
}

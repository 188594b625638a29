#define _GNU_SOURCE
#include "elf_file.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "fixed_text.h"
#include "sys.h"

static bool open_in_process(struct elf_file *elf, pid_t pid, const char *place, const char *path)
{
    char name[PATH_MAX] = "/proc/";
    text_append_number(name, sizeof name, (uint64_t)pid, 1);
    text_append(name, sizeof name, place);
    text_append(name, sizeof name, path);
    return elf_open(elf, name);
}

/* Open the file of a process that has ended by its path in our file system, if that is the same file. */
static bool open_here(struct elf_file *elf, const struct object_file *file)
{
    struct stat status;
    if (!elf_open(elf, file->path))
        return false;
    if (SYS2(SYS_fstat, elf->fd, &status) == 0 && status.st_ino == file->inode)
        return true;
    elf_close(elf);
    return false;
}

bool object_file_open(struct elf_file *elf, const struct object_file *file)
{
    /* The program's file may have been replaced or removed since the start. */
    if (file->pid == 0)
        return elf_open(elf, file->path) || (file->is_program && elf_open(elf, "/proc/self/exe"));
    return open_in_process(elf, file->pid, "/root", file->path) ||
           (file->is_program && open_in_process(elf, file->pid, "/exe", "")) || open_here(elf, file);
}

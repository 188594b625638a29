/* What the collector's pieces ask of Python and of code that run-times make: from outside neither is looked into, and
 * frames are those of machine code. There is nothing but constants. */
#include "jit_map.h"
#include "python.h"

const struct python *python_current(void)
{
    return NULL;
}

bool python_find(const struct elf_file *elf, const char *path, uint64_t base)
{
    (void)elf, (void)path, (void)base;
    return false;
}

bool python_next(struct python_walk *walk, uint64_t pc, uint64_t end, uint64_t *frame)
{
    (void)walk, (void)pc, (void)end, (void)frame;
    return false;
}

bool python_has_ended(const struct python_walk *walk)
{
    (void)walk;
    return true;
}

uint32_t python_unknown_version(void)
{
    return 0;
}

void jit_map_name(char name[JIT_MAP_NAME])
{
    name[0] = '\0';
}

bool jit_map_is_there(void)
{
    return false;
}

void jit_map_keep(const char *directory)
{
    (void)directory;
}

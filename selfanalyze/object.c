/* Thread safety: no static state. */
#define _GNU_SOURCE
#include "functions.h"

struct search {
    uint64_t address;
    struct object *object;
};

/* Return whether one of the object's segments contains the address; `start` and `end` are the bounds of all of them. */
static bool describe(const struct dl_phdr_info *info, uint64_t address, struct object *object)
{
    bool is_within = false;
    *object = (struct object){info->dlpi_name, info->dlpi_addr, UINT64_MAX, 0, info->dlpi_phdr, info->dlpi_phnum};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
        if (segment->p_type != PT_LOAD)
            continue;
        is_within = is_within || (address >= start && address < end);
        object->start = start < object->start ? start : object->start;
        object->end = end > object->end ? end : object->end;
    }
    return is_within;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *search = context;
    (void)size;
    return describe(info, search->address, search->object);
}

bool object_at(uint64_t address, struct object *object)
{
    struct search search = {address, object};
    return dl_iterate_phdr(look_at, &search) != 0;
}

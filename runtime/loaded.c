/* Thread safety: no static state. */
#define _GNU_SOURCE
#include "loaded.h"

struct search {
    uint64_t address;
    struct object object;
    void (*use)(const struct object *object, void *context);
    void *context;
};

/* Describe an object; return whether one of its segments contains the address. */
static bool describe(const struct dl_phdr_info *info, uint64_t address, struct object *object)
{
    *object = (struct object){.path = info->dlpi_name,
                              .base = info->dlpi_addr,
                              .start = UINT64_MAX,
                              .number = object->number + 1,
                              .segments = info->dlpi_phdr,
                              .count = info->dlpi_phnum};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t low = info->dlpi_addr + segment->p_vaddr, high = low + segment->p_memsz;
        if (segment->p_type != PT_LOAD)
            continue;
        object->start = low < object->start ? low : object->start;
        object->end = high > object->end ? high : object->end;
        if (address >= low && address < high) {
            object->low = low;
            object->high = high;
        }
    }
    return object->high != 0;
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *search = context;
    (void)size;
    if (!describe(info, search->address, &search->object))
        return 0;
    if (search->use != NULL)
        search->use(&search->object, search->context);
    return 1;
}

bool object_at(uint64_t address, struct object *object)
{
    struct search search = {.address = address};
    bool is_found = dl_iterate_phdr(visit_object, &search) != 0;
    *object = search.object;
    return is_found;
}

bool object_use_at(uint64_t address, void (*use)(const struct object *object, void *context), void *context)
{
    struct search search = {.address = address, .use = use, .context = context};
    return dl_iterate_phdr(visit_object, &search) != 0;
}

void object_build_id(const struct object *object, char *text, size_t room)
{
    text[0] = '\0';
    for (int i = 0; i < object->count && text[0] == '\0'; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        if (segment->p_type == PT_NOTE)
            build_id_text((const void *)(uintptr_t)(object->base + segment->p_vaddr), segment->p_memsz, text, room);
    }
}

static int take_counts(struct dl_phdr_info *info, size_t size, void *into)
{
    (void)size;
    *(struct loader_counts *)into = (struct loader_counts){info->dlpi_adds, info->dlpi_subs};
    return 1; /* the first object has the numbers */
}

struct loader_counts loader_counts(void)
{
    struct loader_counts counts = {0, 0};
    dl_iterate_phdr(take_counts, &counts);
    return counts;
}

/* Who may touch what: the watched thread writes (calls.c). A function and its module are complete before function_count
 * says that they are there (release); the writing thread reads no others (acquire). */
#define _GNU_SOURCE
#include "functions.h"

#include <link.h>
#include <string.h>

#include "build_id.h"

#define SLOTS (2 * MOST_FUNCTIONS)
#define FNV_OFFSET 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

static struct function functions[MOST_FUNCTIONS];
static size_t function_count;
static uint16_t slots[SLOTS]; /* 1 + id */
static struct module modules[MOST_MODULES];
static size_t module_count;

/* What dl_iterate_phdr is asked for. */
struct search {
    uint64_t address;
    struct module found;
    int is_found;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *search = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && search->address >= start && search->address - start < segment->p_memsz)
            search->is_found = 1;
    }
    if (!search->is_found)
        return 0;
    strncpy(search->found.path, info->dlpi_name, sizeof search->found.path - 1);
    search->found.base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE && search->found.build_id[0] == '\0')
            build_id_text((const void *)(info->dlpi_addr + segment->p_vaddr), segment->p_memsz, search->found.build_id,
                          sizeof search->found.build_id);
    }
    return 1;
}

static uint32_t find_module(uint64_t address)
{
    struct search search = {.address = address};
    dl_iterate_phdr(look_at, &search);
    if (!search.is_found)
        return MOST_MODULES;
    for (uint32_t i = 0; i < module_count; i++)
        if (modules[i].base == search.found.base && strcmp(modules[i].path, search.found.path) == 0)
            return i;
    if (module_count == MOST_MODULES)
        return MOST_MODULES;
    modules[module_count] = search.found;
    return (uint32_t)module_count++;
}

uint64_t functions_hash(const char *text)
{
    uint64_t hash = FNV_OFFSET;
    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * FNV_PRIME;
    return hash;
}

static int64_t value_of(uint32_t id, uint64_t address)
{
    if (id == MOST_MODULES)
        return (int64_t)address;
    const struct module *module = &modules[id];
    const char *slash = strrchr(module->path, '/');
    const char *name = slash != NULL ? slash + 1 : module->path;
    uint64_t hash = functions_hash(module->build_id[0] != '\0' ? module->build_id : name);
    return (int64_t)((hash ^ (address - module->base)) * FNV_PRIME);
}

const struct function *functions_find(const void *pointer)
{
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    size_t slot = (size_t)((address * 0x9e3779b97f4a7c15u) >> 40) % SLOTS;
    for (; slots[slot] != 0; slot = (slot + 1) % SLOTS)
        if (functions[slots[slot] - 1].address == address)
            return &functions[slots[slot] - 1];
    if (function_count == MOST_FUNCTIONS)
        return &functions[MOST_FUNCTIONS - 1];
    struct function *function = &functions[function_count];
    function->address = address;
    function->id = (uint32_t)function_count;
    function->module = find_module(address);
    function->value = value_of(function->module, address);
    slots[slot] = (uint16_t)(function_count + 1);
    __atomic_store_n(&function_count, function_count + 1, __ATOMIC_RELEASE);
    return function;
}

size_t functions_count(void)
{
    return __atomic_load_n(&function_count, __ATOMIC_ACQUIRE);
}

const struct function *functions_get(size_t id)
{
    return &functions[id];
}

const struct module *functions_module(size_t id)
{
    return &modules[id];
}

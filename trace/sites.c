/* Who may touch what: everything belongs to the lane's thread. No locks but the loader's. */
#define _GNU_SOURCE
#include "sites.h"

#include <link.h>
#include <string.h>

#include "build_id.h"
#include "records.h"
#include "sys.h"

/* What dl_iterate_phdr is asked for. */
struct search {
    uint64_t address;
    bool is_found;
    uint64_t base;
    char path[4096];
    char build_id[129];
};

bool sites_start(struct sites *sites)
{
    sites->addresses = sys_alloc_untouched(SITE_SLOTS * sizeof *sites->addresses);
    sites->numbers = sys_alloc_untouched(SITE_SLOTS * sizeof *sites->numbers);
    sites->bases = sys_alloc_untouched(MOST_MODULES * sizeof *sites->bases);
    return sites->addresses != NULL && sites->numbers != NULL && sites->bases != NULL;
}

static bool lies_in(const struct dl_phdr_info *info, uint64_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && address >= start && address - start < segment->p_memsz)
            return true;
    }
    return false;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *search = context;
    (void)size;
    if (!lies_in(info, search->address))
        return 0;
    search->is_found = true;
    search->base = info->dlpi_addr;
    strncpy(search->path, info->dlpi_name, sizeof search->path - 1);
    for (int i = 0; i < info->dlpi_phnum && search->build_id[0] == '\0'; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE)
            build_id_text((const void *)(info->dlpi_addr + segment->p_vaddr), segment->p_memsz, search->build_id,
                          sizeof search->build_id);
    }
    return 1;
}

static void put_text(struct buffer *words, const char *text)
{
    size_t length = strlen(text);
    buffer_varint(words, length);
    buffer_bytes(words, text, length);
}

/* 1 + its number among the modules that are written; 0 where it has none. */
static uint32_t module_number(struct sites *sites, struct search *search, struct buffer *words)
{
    if (!search->is_found)
        return 0;
    for (uint32_t i = 0; i < sites->modules; i++)
        if (sites->bases[i] == search->base)
            return i + 1;
    if (sites->modules == MOST_MODULES)
        return 0;
    sites->bases[sites->modules++] = search->base;
    if (search->path[0] == '\0') { /* the loader does not name the program */
        long length = sys_readlink("/proc/self/exe", search->path, sizeof search->path - 1);
        search->path[length > 0 ? length : 0] = '\0';
    }
    buffer_u8(words, RECORD_MODULE);
    put_text(words, search->path);
    put_text(words, search->build_id);
    return sites->modules;
}

static uint32_t add(struct sites *sites, uint64_t address, size_t slot, struct buffer *words)
{
    struct search search = {.address = address};
    if (sites->count == MOST_SITES - 1)
        return 0;
    dl_iterate_phdr(look_at, &search);
    uint32_t module = module_number(sites, &search, words);
    buffer_u8(words, RECORD_SITE);
    buffer_varint(words, module);
    buffer_varint(words, address - (module > 0 ? search.base : 0));
    sites->addresses[slot] = address;
    sites->numbers[slot] = ++sites->count;
    return sites->count;
}

uint32_t sites_number(struct sites *sites, uint64_t address, struct buffer *words)
{
    size_t slot = (size_t)((address * 0x9e3779b97f4a7c15u) >> 40) % SITE_SLOTS;
    if (address == 0)
        return 0;
    for (; sites->addresses[slot] != 0; slot = (slot + 1) % SITE_SLOTS)
        if (sites->addresses[slot] == address)
            return sites->numbers[slot];
    return add(sites, address, slot, words);
}

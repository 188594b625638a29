/* Thread safety: no shared state. */
#define _GNU_SOURCE
#include "resolve.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WORD_BITS (8 * sizeof(ElfW(Addr)))

struct relocations {
    const ElfW(Rela) * first;
    size_t bytes;
};

struct tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash, *hash; /* either may be missing */
    struct relocations data, calls;
    size_t without_symbol; /* the first of `data` */
};

struct wanted {
    const char *name;
    const void *excluded; /* not this one */
    uint32_t gnu_hash, hash;
    void *definition;
};

static uint32_t gnu_hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name != '\0'; name++)
        hash = hash * 33 + (uint8_t)*name;
    return hash;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 0;
    for (; *name != '\0'; name++) {
        hash = (hash << 4) + (uint8_t)*name;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    return hash;
}

/* Read the tables. The entries hold addresses or offsets, depending on the loader. */
static struct tables read_tables(const ElfW(Dyn) * dynamic, uint64_t base)
{
    struct tables tables = {0};
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        uint64_t value = dynamic->d_un.d_ptr;
        const void *table = (const void *)(uintptr_t)(value < base ? base + value : value);
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            tables.symbols = table;
            break;
        case DT_STRTAB:
            tables.strings = table;
            break;
        case DT_GNU_HASH:
            tables.gnu_hash = table;
            break;
        case DT_HASH:
            tables.hash = table;
            break;
        case DT_RELA:
            tables.data.first = table;
            break;
        case DT_RELASZ:
            tables.data.bytes = value;
            break;
        case DT_RELACOUNT:
            tables.without_symbol = value;
            break;
        case DT_JMPREL:
            tables.calls.first = table;
            break;
        case DT_PLTRELSZ:
            tables.calls.bytes = value;
            break;
        }
    }
    return tables;
}

static bool is_definition(const struct tables *tables, uint32_t number, const char *name)
{
    const ElfW(Sym) *symbol = &tables->symbols[number];
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 && (symbol->st_info & 0xf) == STT_FUNC &&
           strcmp(tables->strings + symbol->st_name, name) == 0;
}

/* Look up a symbol by its GNU hash; 0 means none. */
static uint32_t look_in_gnu_hash(const struct tables *tables, const struct wanted *wanted)
{
    const uint32_t *table = tables->gnu_hash;
    uint32_t bucket_count = table[0], first = table[1], word_count = table[2], shift = table[3];
    const ElfW(Addr) *filter = (const ElfW(Addr) *)(const void *)(table + 4);
    const uint32_t *buckets = (const uint32_t *)(const void *)(filter + word_count);
    const uint32_t *chain = buckets + bucket_count;
    uint32_t hash = wanted->gnu_hash;
    ElfW(Addr) word = filter[hash / WORD_BITS % word_count];
    if ((word >> hash % WORD_BITS & word >> (hash >> shift) % WORD_BITS & 1) == 0)
        return 0;
    for (uint32_t number = buckets[hash % bucket_count]; number != 0 && number >= first; number++) {
        uint32_t link = chain[number - first];
        if ((link | 1) == (hash | 1) && is_definition(tables, number, wanted->name))
            return number;
        if (link & 1)
            break;
    }
    return 0;
}

static uint32_t look_in_hash(const struct tables *tables, const struct wanted *wanted)
{
    const uint32_t *buckets = tables->hash + 2, *chain = buckets + tables->hash[0];
    uint32_t number = tables->hash[0] > 0 ? buckets[wanted->hash % tables->hash[0]] : 0;
    while (number != 0 && !is_definition(tables, number, wanted->name))
        number = chain[number];
    return number;
}

static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const void *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return NULL;
}

/* Read an object's tables. False if it has none, and for this library. */
static bool tables_of(const struct dl_phdr_info *info, struct tables *tables)
{
    const ElfW(Dyn) *dynamic = dynamic_of(info);
    if (dynamic == NULL || dynamic == _DYNAMIC)
        return false;
    *tables = read_tables(dynamic, info->dlpi_addr);
    return tables->symbols != NULL && tables->strings != NULL;
}

static int match_definition(struct dl_phdr_info *info, size_t size, void *context)
{
    struct wanted *wanted = context;
    struct tables tables;
    uint32_t number = 0;
    (void)size;
    if (!tables_of(info, &tables))
        return 0;
    if (tables.gnu_hash != NULL)
        number = look_in_gnu_hash(&tables, wanted);
    else if (tables.hash != NULL)
        number = look_in_hash(&tables, wanted);
    if (number != 0)
        wanted->definition = (void *)(uintptr_t)(info->dlpi_addr + tables.symbols[number].st_value);
    if (wanted->definition == wanted->excluded)
        wanted->definition = NULL;
    return wanted->definition != NULL;
}

void *elf_symbol_other_than(const char *name, const void *excluded)
{
    struct wanted wanted = {.name = name, .excluded = excluded, .gnu_hash = gnu_hash_of(name), .hash = hash_of(name)};
    dl_iterate_phdr(match_definition, &wanted);
    return wanted.definition;
}

void *elf_symbol_anywhere(const char *name)
{
    return elf_symbol_other_than(name, NULL);
}

/* Return whether this object is linked with a name that no other object defines. */
static bool misses(const struct tables *tables, const struct relocations *relocations, size_t from,
                   bool (*is_ours)(const char *name))
{
    for (size_t i = from; i < relocations->bytes / sizeof *relocations->first; i++) {
        uint32_t number = (uint32_t)ELF64_R_SYM(relocations->first[i].r_info);
        const ElfW(Sym) *symbol = &tables->symbols[number];
        const char *name = tables->strings + symbol->st_name;
        if (number != 0 && symbol->st_shndx == SHN_UNDEF && is_ours(name) && elf_symbol_anywhere(name) == NULL)
            return true;
    }
    return false;
}

static int match_missed(struct dl_phdr_info *info, size_t size, void *context)
{
    bool (**is_ours)(const char *name) = context;
    struct tables tables;
    (void)size;
    return tables_of(info, &tables) && (misses(&tables, &tables.data, tables.without_symbol, *is_ours) ||
                                        misses(&tables, &tables.calls, 0, *is_ours));
}

bool elf_symbol_is_missed(bool (*is_ours)(const char *name))
{
    return dl_iterate_phdr(match_missed, &is_ours) != 0;
}

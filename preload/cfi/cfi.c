#define _GNU_SOURCE
#include "cfi.h"

#include <string.h>

#include "sys.h"

/* Limit of the average number of reads per byte while records are listed. */
#define MOST_READINGS 8

#define LEAST_RECORD 16 /* minimum size of a function's record in bytes, in any encoding */

static bool load_frames(struct cfi_table *table, const struct elf_file *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr || address - segment->p_vaddr >= segment->p_filesz)
            continue;
        uint64_t skip = address - segment->p_vaddr;
        table->address = address;
        table->size = segment->p_filesz - skip;
        const Elf64_Shdr *named = elf_section(elf, ".eh_frame");
        if (named != NULL && named->sh_addr == address && named->sh_size <= table->size)
            table->size = named->sh_size;
        table->frames = elf_in_place(elf, address, table->size);
        if (table->frames == NULL)
            table->frames = table->copy = elf_load(elf, segment->p_offset + skip, table->size);
        return table->frames != NULL;
    }
    return false;
}

/* The binary search table of .eh_frame_hdr lists every function in the order of its addresses. */
static bool list_by_header(struct cfi_table *table, const uint8_t *header, uint64_t size, uint64_t address)
{
    uint32_t count;
    memcpy(&count, header + 8, sizeof count);
    if ((uint64_t)count > (size - 12) / sizeof *table->entries)
        return false;
    table->entries = (const struct cfi_entry *)(const void *)(header + 12);
    table->count = count;
    table->origin = address;
    return true;
}

/* Shell sort: linkers leave the table nearly sorted, and no memory is needed. */
static void sort(struct cfi_entry *entries, size_t count)
{
    size_t gap = 1;
    while (gap < count / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3) {
        for (size_t i = gap; i < count; i++) {
            const struct cfi_entry moved = entries[i];
            size_t at = i;
            for (; at >= gap && entries[at - gap].low > moved.low; at -= gap)
                entries[at] = entries[at - gap];
            entries[at] = moved;
        }
    }
}

/* List record by record, for objects without a header, such as static programs. */
static bool list_by_record(struct cfi_table *table)
{
    struct cfi_reader reader = {
        .data = table->frames, .size = table->size, .address = table->address, .budget = MOST_READINGS * table->size};
    size_t capacity = table->size / LEAST_RECORD;
    table->list_bytes = capacity * sizeof *table->entries;
    struct cfi_entry *entries = capacity > 0 ? sys_alloc(table->list_bytes) : NULL;
    table->list = entries;
    if (entries == NULL)
        return false;
    for (uint64_t at = 0; table->size - at >= LEAST_RECORD && table->count < capacity;) {
        struct cfi_function function;
        uint32_t length;
        memcpy(&length, table->frames + at, sizeof length);
        if (length == 0 || length > table->size - at - sizeof length) /* the end; no linker writes 64-bit ones */
            break;
        int64_t low = cfi_read_function(&reader, at, &function) ? (int64_t)(function.low - table->address) : INT64_MAX;
        if (low == (int32_t)low && at <= INT32_MAX)
            entries[table->count++] = (struct cfi_entry){.low = (int32_t)low, .record = (int32_t)at};
        at += sizeof length + length;
    }
    sort(entries, table->count);
    table->entries = entries;
    table->origin = table->address;
    return true;
}

/* Header layout that every GNU and LLVM linker writes: version 1, pc-relative frame pointer, u4 count, and a table
 * of 4-byte offsets from the header. */
static bool is_usual(const uint8_t *header, uint64_t size)
{
    static const uint8_t expected[] = {1, 0x1b, 0x03, 0x3b};
    return size >= 12 && memcmp(header, expected, sizeof expected) == 0;
}

static bool list_with_header(struct cfi_table *table, const struct elf_file *elf, const Elf64_Phdr *segment)
{
    uint64_t size = segment->p_filesz;
    const uint8_t *header = elf_in_place(elf, segment->p_vaddr, size);
    int32_t relative;
    if (header == NULL) {
        header = table->list = elf_load(elf, segment->p_offset, size);
        table->list_bytes = size + 1;
    }
    if (header == NULL)
        return false;
    if (!is_usual(header, size))
        return false;
    memcpy(&relative, header + 4, sizeof relative);
    return load_frames(table, elf, segment->p_vaddr + 4 + (uint64_t)(int64_t)relative) &&
           list_by_header(table, header, size, segment->p_vaddr);
}

void cfi_open(struct cfi_table *table, const struct elf_file *elf, uint64_t low, uint64_t high, bool go_too)
{
    *table = (struct cfi_table){.low = low, .high = high};
    const Elf64_Phdr *segment = elf_segment(elf, PT_GNU_EH_FRAME);
    const Elf64_Shdr *section = elf_section(elf, ".eh_frame");
    if (high <= low || high - low > UINT32_MAX)
        return;
    if (segment != NULL ? !list_with_header(table, elf, segment)
                        : section != NULL && !(load_frames(table, elf, section->sh_addr) && list_by_record(table)))
        cfi_free(table);
    if (go_too)
        go_table_open(&table->go, elf);
}

#define _GNU_SOURCE
#include "cfi.h"

#include <string.h>

#include "cfi_program.h"
#include "go_table.h"
#include "sys.h"

/* How often each byte is read, on the average: compilers' common records are short, and make it two or three times. */
#define MOST_READINGS 8

#define LEAST_RECORD 16 /* bytes of a function's, in any encoding */

/* A view of .eh_frame, or of .eh_frame_hdr. */
struct section {
    uint8_t *data;
    uint64_t size;
    uint64_t address;
};

static bool load_range(const struct elf_file *elf, struct section *section, uint64_t address)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr || address - segment->p_vaddr >= segment->p_filesz)
            continue;
        uint64_t skip = address - segment->p_vaddr;
        section->address = address;
        section->size = segment->p_filesz - skip;
        const Elf64_Shdr *named = elf_section(elf, ".eh_frame");
        if (named != NULL && named->sh_addr == address && named->sh_size <= section->size)
            section->size = named->sh_size;
        section->data = elf_load(elf, segment->p_offset + skip, section->size);
        return section->data != NULL;
    }
    return false;
}

static void unload(struct section *section)
{
    if (section->data != NULL)
        sys_free(section->data, section->size + 1);
}

/* A function's record, by its place in .eh_frame. */
struct entry {
    uint64_t low; /* of the function's addresses */
    uint64_t at;
};

struct entries {
    struct entry *all; /* in the order of addresses */
    size_t count, capacity;
};

static bool reserve(struct entries *entries, size_t capacity)
{
    entries->capacity = capacity;
    entries->all = capacity > 0 ? sys_alloc(capacity * sizeof *entries->all) : NULL;
    return entries->all != NULL || capacity == 0;
}

/* What no record is of is without rules, or Go's. */
static bool fill_gap(struct cfi_table *table, struct go_table *go, uint64_t low, uint64_t high)
{
    struct cfi_row gap = {.pc = (uint32_t)(low - table->low), .cfa = CFA_NONE};
    return low == high || (cfi_add_row(table, &gap) && (go->data == NULL || go_table_rules(go, table, low, high)));
}

static bool compile(struct cfi_table *table, const struct section *frames, const struct entries *entries,
                    struct go_table *go)
{
    struct cfi_reader reader = {
        .data = frames->data, .size = frames->size, .address = frames->address, .budget = MOST_READINGS * frames->size};
    uint64_t previous_end = table->low;
    for (size_t i = 0; i < entries->count; i++) {
        struct cfi_function function;
        if (!cfi_read_function(&reader, entries->all[i].at, &function) || function.low < previous_end ||
            function.high > table->high || function.high <= function.low)
            continue;
        if (!fill_gap(table, go, previous_end, function.low))
            return false;
        if (!cfi_run(table, &reader, &function))
            return false;
        previous_end = function.high;
    }
    struct cfi_row end = {.pc = (uint32_t)(previous_end - table->low), .cfa = CFA_NONE};
    return cfi_add_row(table, &end) && fill_gap(table, go, previous_end, table->high);
}

/* The binary search table of .eh_frame_hdr lists every function in the order of its addresses. */
static bool list_by_header(struct entries *entries, const struct section *header, const struct section *frames)
{
    const uint8_t *data = header->data;
    uint32_t count;
    memcpy(&count, data + 8, sizeof count);
    if ((uint64_t)count > (header->size - 12) / 8 || !reserve(entries, count))
        return false;
    for (; entries->count < count; entries->count++) {
        int32_t relative[2];
        memcpy(relative, data + 12 + 8 * (uint64_t)entries->count, sizeof relative);
        uint64_t entry = header->address + (uint64_t)(int64_t)relative[1];
        entries->all[entries->count] = (struct entry){.at = entry - frames->address};
    }
    return true;
}

/* Shell's: nearly sorted as linkers leave it, and no memory is needed. */
static void sort(struct entries *entries)
{
    size_t gap = 1;
    while (gap < entries->count / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3) {
        for (size_t i = gap; i < entries->count; i++) {
            const struct entry moved = entries->all[i];
            size_t at = i;
            for (; at >= gap && entries->all[at - gap].low > moved.low; at -= gap)
                entries->all[at] = entries->all[at - gap];
            entries->all[at] = moved;
        }
    }
}

/* Where a linker has written no header, as for static programs: one record after the other. */
static bool list_by_record(struct entries *entries, const struct section *frames)
{
    struct cfi_reader reader = {
        .data = frames->data, .size = frames->size, .address = frames->address, .budget = MOST_READINGS * frames->size};
    if (!reserve(entries, frames->size / LEAST_RECORD))
        return false;
    for (uint64_t at = 0; frames->size - at >= LEAST_RECORD && entries->count < entries->capacity;) {
        struct cfi_function function;
        uint32_t length;
        memcpy(&length, frames->data + at, sizeof length);
        if (length == 0 || length > frames->size - at - sizeof length) /* the end; no linker writes 64-bit ones */
            break;
        if (cfi_read_function(&reader, at, &function))
            entries->all[entries->count++] = (struct entry){.low = function.low, .at = at};
        at += sizeof length + length;
    }
    sort(entries);
    return true;
}

/* Header layout that every GNU and LLVM linker writes: version 1, pc-relative frame pointer, u4 count, and a table
 * of 4-byte offsets from the header. */
static bool usual_header(const struct section *header)
{
    static const uint8_t expected[] = {1, 0x1b, 0x03, 0x3b};
    return header->size >= 12 && memcmp(header->data, expected, sizeof expected) == 0;
}

static bool list_with_header(struct entries *entries, const struct elf_file *elf, const Elf64_Phdr *segment,
                             struct section *frames)
{
    struct section header = {.size = segment->p_filesz, .address = segment->p_vaddr};
    bool is_listed = false;
    header.data = elf_load(elf, segment->p_offset, header.size);
    if (header.data != NULL && usual_header(&header)) {
        int32_t relative;
        memcpy(&relative, header.data + 4, sizeof relative);
        is_listed = load_range(elf, frames, header.address + 4 + (uint64_t)(int64_t)relative) &&
                    list_by_header(entries, &header, frames);
    }
    unload(&header);
    return is_listed;
}

void cfi_build(struct cfi_table *table, const struct elf_file *elf, uint64_t low, uint64_t high, bool go_too)
{
    *table = (struct cfi_table){.low = low, .high = high};
    const Elf64_Phdr *segment = elf_segment(elf, PT_GNU_EH_FRAME);
    const Elf64_Shdr *section = elf_section(elf, ".eh_frame");
    if (high <= low || high - low > UINT32_MAX)
        return;
    struct section frames = {0};
    struct entries entries = {0};
    struct go_table go = {.data = NULL};
    bool is_listed = false;
    if (go_too)
        go_table_open(&go, elf);
    if (segment != NULL)
        is_listed = list_with_header(&entries, elf, segment, &frames);
    else if (section != NULL)
        is_listed = load_range(elf, &frames, section->sh_addr) && list_by_record(&entries, &frames);
    if (!is_listed)
        entries.count = 0;
    if ((is_listed || go.data != NULL) && compile(table, &frames, &entries, &go))
        cfi_build_index(table);
    go_table_close(&go);
    unload(&frames);
    sys_free(entries.all, entries.capacity * sizeof *entries.all);
    if (table->index == NULL)
        cfi_free(table);
}

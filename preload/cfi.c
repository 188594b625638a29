#define _GNU_SOURCE
#include "cfi.h"

#include <string.h>

#include "cfi_program.h"
#include "sys.h"

/* How often each byte is read, on the average: compilers' common records are short, and make it two or three times. */
#define MOST_READINGS 8

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

/* The binary search table of .eh_frame_hdr lists every function in the order of its addresses. */
static bool walk(struct cfi_table *table, const struct section *header, const struct section *frames)
{
    const uint8_t *data = header->data;
    struct cfi_reader reader = {
        .data = frames->data, .size = frames->size, .address = frames->address, .budget = MOST_READINGS * frames->size};
    uint32_t count;
    memcpy(&count, data + 8, sizeof count);
    if ((uint64_t)count > (header->size - 12) / 8)
        return false;
    uint64_t previous_end = table->low;
    for (uint32_t i = 0; i < count; i++) {
        int32_t relative[2];
        memcpy(relative, data + 12 + 8 * (uint64_t)i, sizeof relative);
        uint64_t entry = header->address + (uint64_t)(int64_t)relative[1];
        struct cfi_function function;
        if (!cfi_read_function(&reader, entry - frames->address, &function) || function.low < previous_end ||
            function.high > table->high || function.high <= function.low)
            continue;
        struct cfi_row gap = {.pc = (uint32_t)(previous_end - table->low), .cfa = CFA_NONE};
        if (function.low > previous_end && !cfi_add_row(table, &gap))
            return false;
        if (!cfi_run(table, &reader, &function))
            return false;
        previous_end = function.high;
    }
    struct cfi_row end = {.pc = (uint32_t)(previous_end - table->low), .cfa = CFA_NONE};
    return cfi_add_row(table, &end);
}

/* Header layout that every GNU and LLVM linker writes: version 1, pc-relative frame pointer, u4 count, and a table
 * of 4-byte offsets from the header. */
static bool usual_header(const struct section *header)
{
    static const uint8_t expected[] = {1, 0x1b, 0x03, 0x3b};
    return header->size >= 12 && memcmp(header->data, expected, sizeof expected) == 0;
}

void cfi_build(struct cfi_table *table, const struct elf_file *elf, uint64_t low, uint64_t high)
{
    *table = (struct cfi_table){.low = low, .high = high};
    const Elf64_Phdr *segment = elf_segment(elf, PT_GNU_EH_FRAME);
    if (segment == NULL || high <= low || high - low > UINT32_MAX)
        return;
    struct section header = {.size = segment->p_filesz, .address = segment->p_vaddr};
    struct section frames = {0};
    header.data = elf_load(elf, segment->p_offset, header.size);
    if (header.data != NULL && usual_header(&header)) {
        int32_t relative;
        memcpy(&relative, header.data + 4, sizeof relative);
        if (load_range(elf, &frames, header.address + 4 + (uint64_t)(int64_t)relative) && walk(table, &header, &frames))
            cfi_build_index(table);
    }
    unload(&header);
    unload(&frames);
    if (table->index == NULL)
        cfi_free(table);
}

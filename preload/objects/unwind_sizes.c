#define _GNU_SOURCE
#include "unwind_sizes.h"

#include <string.h>

#include "sys.h"

#define HEAD 12 /* bytes of .eh_frame_hdr before its entries */

/* An entry of .eh_frame_hdr: distances from the section's beginning. */
struct entry {
    int32_t low, record;
};

/* A function's record in .eh_frame, in the usual form: `low` is a distance from where it stands. */
struct record {
    uint32_t length, common;
    int32_t low;
    uint32_t size;
};

/* Version 1, and the ways of writing that all linkers use. */
static bool is_usual(const struct elf_file *elf, const Elf64_Shdr *header)
{
    static const uint8_t expected[] = {1, 0x1b, 0x03, 0x3b};
    uint8_t found[sizeof expected];
    return elf_read(elf, found, sizeof found, header->sh_offset) && memcmp(found, expected, sizeof expected) == 0;
}

uint64_t unwind_sizes_length(const struct elf_file *elf)
{
    const Elf64_Shdr *header = elf_section(elf, ".eh_frame_hdr");
    const Elf64_Shdr *frames = elf_section(elf, ".eh_frame");
    if (header == NULL || frames == NULL || header->sh_type == SHT_NOBITS || frames->sh_type == SHT_NOBITS ||
        header->sh_size < HEAD || !is_usual(elf, header))
        return 0;
    uint64_t length = (header->sh_size - HEAD) / sizeof(struct entry) * sizeof(uint32_t);
    return length < frames->sh_size ? length : 0;
}

static uint32_t size_of(const struct entry *entry, uint64_t header, const Elf64_Shdr *frames, const uint8_t *records)
{
    struct record record;
    uint64_t at = header + (uint64_t)(int64_t)entry->record - frames->sh_addr;
    if (frames->sh_size < sizeof record || at > frames->sh_size - sizeof record)
        return 0;
    memcpy(&record, records + at, sizeof record);
    uint64_t low = frames->sh_addr + at + offsetof(struct record, low) + (uint64_t)(int64_t)record.low;
    return low == header + (uint64_t)(int64_t)entry->low ? record.size : 0;
}

void unwind_sizes_put(struct buffer *out, const struct elf_file *elf)
{
    const Elf64_Shdr *header = elf_section(elf, ".eh_frame_hdr");
    const Elf64_Shdr *frames = elf_section(elf, ".eh_frame");
    uint64_t count = unwind_sizes_length(elf) / sizeof(uint32_t);
    uint8_t *entries = elf_load(elf, header->sh_offset, header->sh_size);
    uint8_t *records = entries != NULL ? elf_load(elf, frames->sh_offset, frames->sh_size) : NULL;
    out->failed = out->failed || records == NULL;
    for (uint64_t i = 0; records != NULL && i < count; i++) {
        struct entry entry;
        memcpy(&entry, entries + HEAD + i * sizeof entry, sizeof entry);
        buffer_u32(out, size_of(&entry, header->sh_addr, frames, records));
    }
    if (records != NULL)
        sys_free(records, frames->sh_size + 1);
    if (entries != NULL)
        sys_free(entries, header->sh_size + 1);
}

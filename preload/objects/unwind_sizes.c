#define _GNU_SOURCE
#include "elf_file.h"

#include <string.h>

#include "sys.h"

/* An entry of .eh_frame_hdr: distances from the section's beginning. */
struct entry {
    int32_t low, record;
};

/* A function's record in .eh_frame, in the usual form: `low` is relative to its own position. */
struct record {
    uint32_t length, common;
    int32_t low;
    uint32_t size;
};

/* Return whether the header has version 1 and the encodings that all linkers use. */
static bool is_usual(const struct elf_file *elf, const Elf64_Shdr *header)
{
    static const uint8_t expected[] = {1, 0x1b, 0x03, 0x3b};
    uint8_t bytes[sizeof expected];
    return elf_read(elf, bytes, sizeof bytes, header->sh_offset) && memcmp(bytes, expected, sizeof expected) == 0;
}

const Elf64_Shdr *unwind_sizes_section(const struct elf_file *elf)
{
    const Elf64_Shdr *header = elf_section(elf, ".eh_frame_hdr");
    const Elf64_Shdr *frames = elf_section(elf, ".eh_frame");
    bool is_there = header != NULL && frames != NULL && header->sh_type != SHT_NOBITS &&
                    frames->sh_type != SHT_NOBITS && header->sh_size >= UNWIND_SIZES_HEAD && is_usual(elf, header);
    return is_there ? header : NULL;
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

void unwind_sizes_replace(uint8_t *entries, size_t bytes, const struct elf_file *elf, const uint8_t *records)
{
    const Elf64_Shdr *header = elf_section(elf, ".eh_frame_hdr");
    const Elf64_Shdr *frames = elf_section(elf, ".eh_frame");
    for (size_t at = 0; bytes - at >= sizeof(struct entry); at += sizeof(struct entry)) {
        struct entry entry;
        memcpy(&entry, entries + at, sizeof entry);
        uint32_t size = size_of(&entry, header->sh_addr, frames, records);
        memcpy(entries + at + offsetof(struct entry, record), &size, sizeof size);
    }
}

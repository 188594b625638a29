#define _GNU_SOURCE
#include "elf_file.h"

#include <string.h>

#include "sys.h"

#define HEAD 12 /* bytes of .eh_frame_hdr before its entries */

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
                    frames->sh_type != SHT_NOBITS && header->sh_size >= HEAD && is_usual(elf, header);
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

/* Put each function's size in place of its record's position. */
static void put_sizes(uint8_t *table, const Elf64_Shdr *header, const Elf64_Shdr *frames, const uint8_t *records)
{
    for (uint64_t at = HEAD; header->sh_size - at >= sizeof(struct entry); at += sizeof(struct entry)) {
        struct entry entry;
        memcpy(&entry, table + at, sizeof entry);
        uint32_t size = size_of(&entry, header->sh_addr, frames, records);
        memcpy(table + at + offsetof(struct entry, record), &size, sizeof size);
    }
}

void unwind_sizes_put(struct buffer *out, const struct elf_file *elf)
{
    const Elf64_Shdr *header = elf_section(elf, ".eh_frame_hdr");
    const Elf64_Shdr *frames = elf_section(elf, ".eh_frame");
    const uint8_t *there = elf_in_place(elf, frames->sh_addr, frames->sh_size);
    uint8_t *copy = there == NULL ? elf_load(elf, frames->sh_offset, frames->sh_size) : NULL;
    const uint8_t *records = there != NULL ? there : copy;
    bool is_read = records != NULL && buffer_reserve(out, header->sh_size) &&
                   elf_read(elf, out->data + out->length, header->sh_size, header->sh_offset);
    if (is_read) {
        put_sizes(out->data + out->length, header, frames, records);
        out->length += header->sh_size;
    }
    out->failed = out->failed || !is_read;
    if (copy != NULL)
        sys_free(copy, frames->sh_size + 1);
}

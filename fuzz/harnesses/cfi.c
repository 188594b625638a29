/* An .eh_frame of any content within an ELF object where all else is in order: every record that says of itself that it
 * is a function's is in the search table. */
#include "cfi_checked.h"
#include "sys.h"

#define CODE_BYTES 0x10000 /* at address 0; the records lie behind */
#define MOST_FUNCTIONS 4096

struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segments[3];
    uint8_t version, frame_encoding, count_encoding, table_encoding;
    int32_t frames;
    uint32_t count;
    int32_t table[][2];
};

/* Where records are that refer back to another; returns how many. */
static uint32_t find_functions(const uint8_t *frames, size_t size, uint32_t offsets[MOST_FUNCTIONS])
{
    uint32_t count = 0;
    for (size_t at = 0; at + 8 <= size && count < MOST_FUNCTIONS;) {
        uint32_t length, back;
        memcpy(&length, frames + at, 4);
        memcpy(&back, frames + at + 4, 4);
        if (length < 4)
            break;
        if (back != 0)
            offsets[count++] = (uint32_t)at;
        at += 4 + (size_t)length;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint32_t offsets[MOST_FUNCTIONS];
    uint32_t count = find_functions(data, size, offsets);
    size_t head = sizeof(struct image) + count * 8, total = head + size;
    struct image *image = calloc(1, total);
    memcpy(image->header.e_ident, "\177ELF\2\1\1", 7);
    image->header.e_machine = EM_X86_64;
    image->header.e_phentsize = sizeof(Elf64_Phdr);
    image->header.e_phnum = 3;
    image->header.e_phoff = offsetof(struct image, segments);
    size_t hdr = offsetof(struct image, version);
    image->segments[0] = (Elf64_Phdr){
        .p_type = PT_LOAD, .p_flags = PF_R, .p_offset = head, .p_vaddr = CODE_BYTES + head, .p_filesz = size};
    image->segments[1] =
        (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME, .p_offset = hdr, .p_vaddr = CODE_BYTES + hdr, .p_filesz = head - hdr};
    image->version = 1;
    image->frame_encoding = 0x1b;
    image->count_encoding = 0x03;
    image->table_encoding = 0x3b;
    image->frames = (int32_t)(head - hdr - 4);
    image->count = count;
    for (uint32_t i = 0; i < count; i++) {
        image->table[i][0] = -(int32_t)(CODE_BYTES + hdr); /* 0: so that each is looked at for every address */
        image->table[i][1] = (int32_t)(head - hdr + offsets[i]);
    }
    memcpy((uint8_t *)image + head, data, size);
    struct elf_file elf;
    struct cfi_table table;
    watched_allow(ALLOWED_BYTES(total));
    DEMAND(elf_open_memory(&elf, image, total));
    cfi_open(&table, &elf, 0, CODE_BYTES, false);
    DEMAND(table.count == (size > 0 ? count : 0));
    check_table(&table);
    cfi_free(&table);
    elf_close(&elf);
    free(image);
    return 0;
}

/* The copy of an object's symbols: no larger than the object, and an object again. */
#include "preload/objects/snapshot.c"

#include "drawn.h"
#include "sys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_file elf, copy;
    struct buffer file = {0};
    watched_allow(ALLOWED_BYTES(size));
    if (!elf_open_memory(&elf, data, size))
        return 0;
    put_file(&file, &elf, true);
    if (!file.failed) {
        size_t headers = sizeof(Elf64_Ehdr) + elf.segment_count * sizeof(Elf64_Phdr);
        DEMAND(file.length <= headers + elf.section_count * sizeof(Elf64_Shdr) + size);
        DEMAND(elf_open_memory(&copy, file.data, file.length));
        DEMAND(copy.section_count == elf.section_count && copy.segment_count == elf.segment_count);
        elf_close(&copy);
    }
    buffer_free(&file);
    elf_close(&elf);
    return 0;
}

/* The copy of an object's symbols: no larger than the object, and an object again. */
#include "preload/objects/snapshot.c"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drawn.h"

/* The records with which the module is unwound are those of the file. */
static struct cfi_table records_of(const struct elf_file *elf, const uint8_t *data, size_t size)
{
    const Elf64_Shdr *frames = elf_section(elf, ".eh_frame");
    struct cfi_table cfi = {0};
    if (frames != NULL && frames->sh_offset <= size && frames->sh_size <= size - frames->sh_offset)
        cfi =
            (struct cfi_table){.frames = data + frames->sh_offset, .address = frames->sh_addr, .size = frames->sh_size};
    return cfi;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_file elf, again;
    watched_allow(ALLOWED_BYTES(size));
    if (!elf_open_memory(&elf, data, size))
        return 0;
    struct copy copy = {.elf = &elf, .draft = {.fd = memfd_create("copy", 0)}};
    struct module *module = calloc(1, sizeof *module); /* the program: with its code */
    module->cfi = records_of(&elf, data, size);
    put_file(&copy, module);
    if (copy.draft.error == 0) {
        size_t headers = sizeof(Elf64_Ehdr) + elf.segment_count * sizeof(Elf64_Phdr);
        size_t length = (size_t)lseek(copy.draft.fd, 0, SEEK_END);
        uint8_t *file = malloc(length);
        DEMAND(pread(copy.draft.fd, file, length, 0) == (ssize_t)length);
        DEMAND(length <= headers + elf.section_count * sizeof(Elf64_Shdr) + size);
        DEMAND(elf_open_memory(&again, file, length));
        DEMAND(again.section_count == elf.section_count && again.segment_count == elf.segment_count);
        elf_close(&again);
        free(file);
    }
    close(copy.draft.fd);
    free(module);
    buffer_free(&copy.piece);
    elf_close(&elf);
    return 0;
}

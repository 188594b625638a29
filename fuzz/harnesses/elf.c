/* An ELF object of any content: its headers, names, build-id and unwind tables. */
#include "cfi_checked.h"
#include "elf_file.h"
#include "modules.h"
#include "sys.h"

static void compile(const struct elf_file *elf, const Elf64_Phdr *segment)
{
    struct cfi_table table;
    cfi_open(&table, elf, segment->p_vaddr, segment->p_vaddr + segment->p_memsz, true);
    check_table(&table);
    cfi_free(&table);
}

static void read_all_symbols(const struct elf_file *elf)
{
    char build_id[72], byte;
    struct start_code start = {0};
    start_code_find(&start, elf);
    DEMAND(start.count <= START_PARTS);
    elf_build_id(elf, build_id, sizeof build_id);
    DEMAND(strlen(build_id) % 2 == 0 && strspn(build_id, "0123456789abcdef") == strlen(build_id));
    elf_calls_mcount(elf);
    for (size_t i = 0; i < elf->section_count; i++)
        DEMAND(elf_section(elf, elf_section_name(elf, &elf->sections[i])) != NULL);
    DEMAND(elf_section(elf, ".never") == NULL || elf->section_names_size > 0);
    DEMAND(!elf_read(elf, &byte, 1, elf->size) && !elf_read(elf, &byte, 1, UINT64_MAX));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_file elf;
    watched_allow(ALLOWED_BYTES(size));
    if (!elf_open_memory(&elf, data, size))
        return 0;
    read_all_symbols(&elf);
    for (size_t i = 0; i < elf.segment_count; i++)
        if (elf.segments[i].p_type == PT_LOAD && (elf.segments[i].p_flags & PF_X) != 0)
            compile(&elf, &elf.segments[i]);
    elf_close(&elf);
    return 0;
}

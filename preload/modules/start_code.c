#define _GNU_SOURCE
#include "modules.h"

#include <string.h>

#include "cfi.h"
#include "sys.h"

/* Start functions of glibc, of musl, and of Go's run-time, which is in every Go program. */
static const char *const names[] = {"__libc_start_main",
                                    "__libc_start_main_impl",
                                    "__libc_start_call_main",
                                    "libc_start_main_stage2",
                                    "start_thread",
                                    "__clone3",
                                    "clone3",
                                    "__clone"};
static const char *const names_of_go[] = {"runtime.goexit", "runtime.goexit.abi0", "runtime.main", "runtime.mstart",
                                          "runtime.mstart.abi0"};

static bool is_among(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

static bool is_start(const char *name, bool is_static)
{
    return (is_static && is_among(name, names, sizeof names / sizeof *names)) ||
           is_among(name, names_of_go, sizeof names_of_go / sizeof *names_of_go);
}

static void add(struct start_code *start, const struct address_range *range)
{
    if (start->count < START_PARTS)
        start->parts[start->count++] = *range;
}

static void take(struct start_code *start, const Elf64_Sym *symbol, const char *name, bool is_static)
{
    const struct address_range range = {symbol->st_value, symbol->st_value + symbol->st_size};
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF)
        return;
    if (strcmp(name, "main") == 0)
        start->main = range;
    else if (is_start(name, is_static))
        add(start, &range);
}

/* Find them in the table of names that survives the stripping of a Go program. */
static void find_in_go_table(struct start_code *start, const struct elf_file *elf)
{
    struct go_table go;
    struct go_function function;
    if (!go_table_open(&go, elf))
        return;
    for (uint64_t i = 0; i < go.count; i++) {
        if (!go_table_function(&go, i, &function) || !is_start(function.name, false))
            continue;
        const struct address_range range = {function.low, function.high};
        add(start, &range);
    }
    go_table_close(&go);
}

void start_code_find(struct start_code *start, const struct elf_file *elf)
{
    const Elf64_Shdr *table = elf_section(elf, ".symtab");
    const Elf64_Shdr *strings = elf_section(elf, ".strtab");
    bool is_static = elf_segment(elf, PT_INTERP) == NULL;
    if (table == NULL || strings == NULL) {
        find_in_go_table(start, elf);
        return;
    }
    char *text = elf_load(elf, strings->sh_offset, strings->sh_size);
    Elf64_Sym *symbols = text != NULL ? elf_load(elf, table->sh_offset, table->sh_size) : NULL;
    for (size_t i = 0; symbols != NULL && i < table->sh_size / sizeof *symbols; i++)
        if (symbols[i].st_name < strings->sh_size)
            take(start, &symbols[i], text + symbols[i].st_name, is_static);
    if (symbols != NULL)
        sys_free(symbols, table->sh_size + 1);
    if (text != NULL)
        sys_free(text, strings->sh_size + 1);
}

static bool is_in(const struct address_range *range, uint64_t address)
{
    return address >= range->low && address < range->high;
}

bool start_code_has(const struct start_code *start, uint64_t address)
{
    for (size_t i = 0; i < start->count; i++)
        if (is_in(&start->parts[i], address))
            return true;
    return false;
}

bool start_code_is_main(const struct start_code *start, uint64_t address)
{
    return is_in(&start->main, address);
}

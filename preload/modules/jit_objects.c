/* Thread safety: all state is the caller's, except the list and its objects, which the program may change at any time:
 * the kernel copies them, and each number in a copy is checked. */
#define _GNU_SOURCE
#include "jit_names.h"

#include <string.h>

#include "elf_file.h"
#include "modules.h"
#include "peek.h"
#include "sys.h"

#define LIST "__jit_debug_descriptor"
#define MOST_BYTES ((uint64_t)64 << 20) /* of an object */
#define MOST_OBJECTS_AT_ONCE 65536      /* a list that changes may contain cycles */

/* Layout from GDB's manual, "JIT Interface". */
struct head {
    uint32_t version, action;
    uint64_t relevant, first;
};
struct entry {
    uint64_t next, previous, image, size;
};

static void scan_module(struct jit_objects *objects, const struct module *module)
{
    struct elf_file elf;
    const struct object_file file = {
        .path = module->path, .pid = module->pid, .inode = module->inode, .is_program = module->id == 0};
    if (module->jit || module->function != NULL || module->path[0] != '/' || !object_file_open(&elf, &file))
        return;
    uint64_t value = elf_value(&elf, LIST);
    if (value != 0 && objects->count < JIT_OBJECTS_LISTS)
        objects->lists[objects->count++].address = value + module->base;
    elf_close(&elf);
}

/* Return the address of an object's function, or 0. In an unlinked object the section headers hold the addresses. */
static uint64_t place_of(const struct elf_file *elf, const Elf64_Sym *symbol)
{
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_size == 0 || symbol->st_shndx >= elf->section_count ||
        symbol->st_shndx == SHN_UNDEF)
        return 0;
    uint64_t start = elf->header.e_type == ET_REL ? elf->sections[symbol->st_shndx].sh_addr : 0;
    return elf->header.e_type == ET_REL && start == 0 ? 0 : start + symbol->st_value;
}

static void take_functions(const struct elf_file *elf, struct jit_lines *lines)
{
    const Elf64_Shdr *table = elf_section(elf, ".symtab");
    const Elf64_Shdr *strings =
        table != NULL && table->sh_link < elf->section_count ? &elf->sections[table->sh_link] : NULL;
    uint64_t count = table != NULL ? table->sh_size / sizeof(Elf64_Sym) : 0;
    Elf64_Sym symbol;
    for (uint64_t i = 0; strings != NULL && i < count; i++) {
        if (!elf_read(elf, &symbol, sizeof symbol, table->sh_offset + i * sizeof symbol))
            return;
        uint64_t start = place_of(elf, &symbol);
        uint64_t name = strings->sh_offset + symbol.st_name;
        if (start != 0 && name >= strings->sh_offset && name < elf->size)
            jit_lines_add(lines, start, symbol.st_size, (const char *)elf->memory + name, elf->size - name);
    }
}

static void take_object(const struct entry *entry, struct jit_lines *lines)
{
    struct elf_file elf;
    uint8_t *copy = entry->size > 0 && entry->size <= MOST_BYTES ? sys_alloc(entry->size) : NULL;
    if (copy == NULL)
        return;
    if (peek(copy, entry->image, entry->size) && elf_open_memory(&elf, copy, entry->size)) {
        take_functions(&elf, lines);
        elf_close(&elf);
    }
    sys_free(copy, entry->size);
}

/* Read a list. New entries precede all others. */
static void read_list(struct jit_objects_list *list, struct jit_lines *lines)
{
    struct head head;
    struct entry entry;
    if (!peek(&head, list->address, sizeof head))
        return;
    uint64_t at = head.first;
    for (size_t i = 0; i < MOST_OBJECTS_AT_ONCE && at != 0 && at != list->newest && peek(&entry, at, sizeof entry);
         i++) {
        take_object(&entry, lines);
        at = entry.next;
    }
    list->newest = head.first;
}

void jit_objects_read(struct jit_objects *objects, struct jit_lines *lines)
{
    for (; objects->modules_checked < modules_count(); objects->modules_checked++)
        scan_module(objects, modules_get(objects->modules_checked));
    for (size_t i = 0; i < objects->count; i++)
        read_list(&objects->lists[i], lines);
}

/* For the interval thread, or a single-threaded program that observes other processes: all state is in the caller's
 * `code`. */
#define _GNU_SOURCE
#include "modules.h"

#include <string.h>
#include <sys/auxv.h>

#include "elf_file.h"
#include "python.h"
#include "sys.h"

/* All processes of an ABI have the same vDSO. */
static bool open_vdso(struct elf_file *elf, const struct mapping *mapping, pid_t pid)
{
    uint64_t start = pid == 0 ? mapping->start : getauxval(AT_SYSINFO_EHDR);
    return start != 0 && elf_open_memory(elf, (const void *)start, mapping->end - mapping->start);
}

static bool open_object(struct elf_file *elf, const struct mapping *mapping, const struct code *code)
{
    if (strcmp(mapping->path, "[vdso]") == 0)
        return open_vdso(elf, mapping, code->pid);
    const struct object_file file = {
        .path = mapping->path, .pid = code->pid, .inode = mapping->inode, .is_program = code->count == 0};
    return object_file_open(elf, &file);
}

/* Find the mapping's segment; base is its address here minus its link-time address. */
static bool place(const struct elf_file *elf, const struct mapping *mapping, struct module *module, uint64_t *base)
{
    const uint64_t page = getauxval(AT_PAGESZ) - 1;
    for (size_t i = 0; i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0)
            continue;
        if ((segment->p_offset & ~page) > mapping->offset || mapping->offset >= segment->p_offset + segment->p_filesz)
            continue;
        *base = mapping->start - mapping->offset + segment->p_offset - segment->p_vaddr;
        module->low = segment->p_vaddr;
        module->high = segment->p_vaddr + segment->p_memsz;
        return true;
    }
    return false;
}

static void find_plt(const struct elf_file *elf, struct module *module)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (strncmp(elf_section_name(elf, section), ".plt", 4) != 0 || (section->sh_flags & SHF_EXECINSTR) == 0)
            continue;
        if (module->plt_low == module->plt_high)
            module->plt_low = section->sh_addr;
        module->plt_high = section->sh_addr + section->sh_size;
    }
}

/* Return whether two modules are the same code. An object mapped again elsewhere (dlclose, dlopen) keeps its number,
 * because addresses are link-time ones; so does a copy of it (other names, other namespaces). */
static bool is_same(const struct module *one, const struct module *other)
{
    if (one->low != other->low || one->high != other->high || strcmp(one->build_id, other->build_id) != 0)
        return false;
    return one->build_id[0] != '\0' || (one->inode == other->inode && strcmp(one->path, other->path) == 0);
}

static struct module *find_moved(const struct code *code, const struct module *fresh)
{
    for (size_t i = 0; i < code->count; i++)
        if (is_same(code->modules[i], fresh))
            return code->modules[i];
    return NULL;
}

static const char *name_of(const struct module *module)
{
    const char *slash = strrchr(module->path, '/');
    return slash != NULL ? slash + 1 : module->path;
}

static bool is_called_python(const struct module *module)
{
    return strncmp(name_of(module), "python", 6) == 0;
}

/* Return whether the object is an extension module of a binary package, whose functions have no symbols. */
static bool is_unnamed_package(const struct elf_file *elf, const char *path)
{
    return (strstr(path, "/site-packages/") != NULL || strstr(path, "/dist-packages/") != NULL) &&
           elf_section(elf, ".symtab") == NULL;
}

/* Look for Python in the object. The interpreter's own code does not describe the program, whose frames it keeps
 * itself. An application that embeds the interpreter in its executable has more code than that. */
static void find_python(struct code *code, const struct elf_file *elf, struct module *module, uint64_t base)
{
    bool is_library = strncmp(name_of(module), "libpython", 9) == 0;
    if (!code->python_is_wanted || (code->count > 0 && !is_library) || !python_find(elf, module->path, base))
        return;
    module->python = true;
    if (is_library || is_called_python(module))
        module->app = false;
    /* The first map has not been read yet, or the program is not Python itself. */
    if (is_library && code->current == NULL && is_called_python(code->modules[0]))
        code->modules[0]->app = false;
}

static void describe(struct code *code, const struct elf_file *elf, const struct mapping *mapping,
                     struct module *module)
{
    bool is_first = code->count == 0;
    find_plt(elf, module);
    cfi_open(&module->cfi, elf, module->low, module->high, code->pid != 0);
    module->profiler = code->pid == 0 && own_maps_hold_profiler(mapping);
    bool is_instrumented = !module->profiler && elf_calls_mcount(elf);
    module->counts = is_instrumented && code->pid == 0; /* never from outside */
    module->app =
        !module->profiler &&
        (is_first || is_instrumented ||
         (code->libraries_are_own && !shared_code_is(module->path) && !is_unnamed_package(elf, module->path)));
    if (is_first && code->pid != 0)
        start_code_find(&module->start, elf);
    if (is_first && code->entry == 0)
        code->entry = module->base + elf->header.e_entry;
    find_python(code, elf, module, module->base);
    module->begins = module->profiler || module->python || shared_code_begins_threads(module->path);
}

/* Fill in `fresh`, or return the known module. NULL: the object has no code at the mapping. The program stays mapped,
 * and its file cannot be written while it runs. */
static struct module *fill(struct code *code, struct elf_file *elf, const struct mapping *mapping, struct module *fresh)
{
    if (!place(elf, mapping, fresh, &fresh->base))
        return NULL;
    elf->is_in_place = code->pid == 0 && code->count == 0;
    elf->base = fresh->base;
    elf_build_id(elf, fresh->build_id, sizeof fresh->build_id);
    struct module *moved = find_moved(code, fresh);
    if (moved == NULL)
        describe(code, elf, mapping, fresh);
    return moved != NULL ? moved : fresh;
}

struct module *module_open(struct code *code, const struct mapping *mapping, uint64_t *base, bool *is_new)
{
    struct elf_file elf;
    struct module *fresh = sys_alloc(sizeof *fresh), *result = NULL;
    *is_new = false;
    if (fresh == NULL)
        return NULL;
    memcpy(fresh->path, mapping->path, sizeof fresh->path);
    fresh->inode = mapping->inode;
    fresh->pid = code->pid;
    if (open_object(&elf, mapping, code)) {
        result = fill(code, &elf, mapping, fresh);
        *base = fresh->base;
        *is_new = result == fresh;
        elf_close(&elf);
    }
    if (result != fresh)
        sys_free(fresh, sizeof *fresh);
    return result;
}

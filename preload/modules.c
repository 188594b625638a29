/* Who may touch what: the start, and then the interval thread alone, scan: they write the modules, their number and the
 * list of maps. All other threads read the current map only, which is published by a release store. Maps and modules
 * never change once they are published, and are never freed while the process is recorded: a handler may be reading
 * one. `code` is written by programs of one thread alone, which look at other processes. No locks. */
#define _GNU_SOURCE
#include "modules.h"

#include <string.h>
#include <sys/auxv.h>

#include "elf_file.h"
#include "jit_map.h"
#include "maps_line.h"
#include "object_file.h"
#include "python.h"
#include "shared_code.h"
#include "sys.h"

static struct code own_code;
static struct code *code = &own_code;

static bool read_file(struct buffer *text, const char *path)
{
    int fd = sys_open(path, O_RDONLY, 0);
    text->length = 0;
    if (fd < 0)
        return false;
    long got;
    do {
        if (!buffer_reserve(text, 65536))
            break;
        got = SYS3(SYS_read, fd, text->data + text->length, 65536);
        text->length += got > 0 ? (size_t)got : 0;
    } while (got > 0 || got == -EINTR);
    sys_close(fd);
    buffer_u8(text, '\0');
    return !text->failed;
}

/* This library is the one whose code holds this function. */
static bool holds_profiler(const struct mapping *mapping)
{
    uint64_t self = (uint64_t)(uintptr_t)&modules_scan;
    return code->pid == 0 && self >= mapping->start && self < mapping->end;
}

static bool shows_profiler(const struct buffer *text)
{
    struct mapping mapping;
    bool is_code;
    for (const char *line = (const char *)text->data; *line != '\0';) {
        line += maps_line_read(line, &mapping, &is_code);
        if (is_code && holds_profiler(&mapping))
            return true;
    }
    return false;
}

/* Not /proc/self at first: that is empty once the main thread has called pthread_exit. An emulator (qemu-user) shows
 * the program's memory there alone, and its own elsewhere. */
static bool read_maps(struct buffer *text)
{
    return (read_file(text, "/proc/thread-self/maps") && shows_profiler(text)) || read_file(text, "/proc/self/maps");
}

/* The kernel shows the same vDSO to all processes of a kind. */
static bool open_vdso(struct elf_file *elf, const struct mapping *mapping)
{
    uint64_t start = code->pid == 0 ? mapping->start : getauxval(AT_SYSINFO_EHDR);
    return start != 0 && elf_open_memory(elf, (const void *)start, mapping->end - mapping->start);
}

static bool open_object(struct elf_file *elf, const struct mapping *mapping)
{
    if (strcmp(mapping->path, "[vdso]") == 0)
        return open_vdso(elf, mapping);
    const struct object_file file = {
        .path = mapping->path, .pid = code->pid, .inode = mapping->inode, .is_program = code->count == 0};
    return object_file_open(elf, &file);
}

/* The segment that the mapping shows: base is its address here minus its link-time address. */
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

/* A mapping that the last scan saw too. */
static const struct code_range *find_known(const struct mapping *mapping)
{
    const struct code_range *range = modules_find(code->current, mapping->start);
    bool same =
        range != NULL && range->start == mapping->start && range->end == mapping->end && range->inode == mapping->inode;
    return same ? range : NULL;
}

/* The same object mapped again elsewhere (dlclose, dlopen) keeps its number: addresses are link-time ones. A copy of it
 * (other names, other namespaces) is the same code. */
static bool is_same(const struct module *one, const struct module *other)
{
    if (one->low != other->low || one->high != other->high || strcmp(one->build_id, other->build_id) != 0)
        return false;
    return one->build_id[0] != '\0' || (one->inode == other->inode && strcmp(one->path, other->path) == 0);
}

static struct module *find_moved(const struct module *fresh)
{
    for (size_t i = 0; i < code->count; i++)
        if (is_same(code->modules[i], fresh))
            return code->modules[i];
    return NULL;
}

bool modules_append(struct module *module)
{
    if (code->count >= MOST_MODULES)
        return false;
    module->id = (uint16_t)code->count;
    code->modules[code->count++] = module;
    return true;
}

/* Addresses there are as they are in the process. */
static struct module *add_jit(uint64_t *base)
{
    *base = 0;
    struct module *jit = &code->jit;
    if (jit->jit)
        return jit;
    if (code->count == 0 || !modules_append(jit))
        return NULL;
    memcpy(jit->path, JIT_PATH, sizeof JIT_PATH);
    jit->high = UINT64_MAX;
    jit->jit = true;
    return jit;
}

static bool is_java(const struct module *module)
{
    return strstr(module->path, "/libjvm.so") != NULL;
}

/* Only where somebody will say what it is called, which Java does at its end. Python's trampolines stand for frames
 * that are seen anyway; what else there is are small pieces between functions. */
static void look_at_jit(void)
{
    bool has_java = false;
    if (!code->jit.jit || code->jit.app || !code->libraries_are_own || python_current() != NULL)
        return;
    for (size_t i = 0; i < code->count && !has_java; i++)
        has_java = is_java(code->modules[i]);
    code->jit.app = has_java || jit_map_is_there();
}

bool modules_have_jit(void)
{
    return code->jit.app;
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

/* Extension modules of packages that came ready-made: nobody could tell their functions apart. */
static bool is_nameless_package(const struct elf_file *elf, const char *path)
{
    return (strstr(path, "/site-packages/") != NULL || strstr(path, "/dist-packages/") != NULL) &&
           elf_section(elf, ".symtab") == NULL;
}

/* Its own code says nothing of a program: that is in frames which it keeps by itself. An application that has the
 * interpreter in its own executable is more than that. */
static void find_python(const struct elf_file *elf, struct module *module, uint64_t base)
{
    bool is_library = strncmp(name_of(module), "libpython", 9) == 0;
    if (!code->python_is_wanted || (code->count > 0 && !is_library) || !python_find(elf, module->path, base))
        return;
    module->python = true;
    if (is_library || is_called_python(module))
        module->app = false;
    /* Nobody has read the first map yet, or the program is not Python's own. */
    if (is_library && code->current == NULL && is_called_python(code->modules[0]))
        code->modules[0]->app = false;
}

static struct module *add_module(const struct mapping *mapping, uint64_t *base)
{
    struct elf_file elf;
    if (strcmp(mapping->path, JIT_PATH) == 0)
        return add_jit(base);
    struct module *module = code->objects < MOST_OBJECTS ? sys_alloc(sizeof *module) : NULL;
    if (module == NULL)
        return NULL;
    memcpy(module->path, mapping->path, sizeof module->path);
    module->inode = mapping->inode;
    module->pid = code->pid;
    if (!open_object(&elf, mapping)) {
        sys_free(module, sizeof *module);
        return NULL;
    }
    struct module *result = NULL;
    if (place(&elf, mapping, module, base)) {
        elf_build_id(&elf, module->build_id, sizeof module->build_id);
        result = find_moved(module);
        if (result == NULL) {
            module->base = *base;
            find_plt(&elf, module);
            cfi_build(&module->cfi, &elf, module->low, module->high);
            module->profiler = holds_profiler(mapping);
            bool is_instrumented = !module->profiler && elf_calls_mcount(&elf);
            module->counts = is_instrumented && code->pid == 0; /* from outside, none is */
            module->app = !module->profiler && (code->count == 0 || is_instrumented ||
                                                (code->libraries_are_own && !shared_code_is(module->path) &&
                                                 !is_nameless_package(&elf, module->path)));
            if (code->count == 0 && code->pid != 0)
                start_code_find(&module->start, &elf);
            if (code->count == 0 && code->entry == 0)
                code->entry = *base + elf.header.e_entry;
            find_python(&elf, module, *base);
            code->objects++;
            if (modules_append(module))
                result = module;
        }
    }
    elf_close(&elf);
    if (result != module)
        sys_free(module, sizeof *module);
    return result;
}

static struct code_map *find_same(const struct code_map *map)
{
    for (struct code_map *old = code->all; old != NULL; old = old->older)
        if (old->count == map->count && memcmp(old->ranges, map->ranges, map->count * sizeof map->ranges[0]) == 0)
            return old;
    return NULL;
}

static void add_range(struct code_map *map, const struct mapping *mapping)
{
    const struct code_range *known = find_known(mapping);
    struct code_range range = {.start = mapping->start, .end = mapping->end, .inode = mapping->inode};
    range.module = known != NULL ? known->module : add_module(mapping, &range.base);
    if (known != NULL)
        range.base = known->base;
    if (range.module != NULL)
        map->ranges[map->count++] = range;
}

/* `executable_first`: only makes the program itself module 0, whatever the order of the addresses. Where its entry is
 * not known, it lies below its libraries. */
static void fill_map(struct code_map *map, const char *text, bool executable_first)
{
    uint64_t entry = code->entry;
    struct mapping mapping;
    size_t length;
    bool is_code;
    for (const char *line = text; *line != '\0'; line += length) {
        length = maps_line_read(line, &mapping, &is_code);
        bool is_program = entry == 0 ? code->count == 0 : entry >= mapping.start && entry < mapping.end;
        if (is_code && (!executable_first || is_program))
            add_range(map, &mapping);
    }
    if (executable_first)
        map->count = 0;
}

void modules_begin(bool libraries_too, bool python_too)
{
    code->python_is_wanted = python_too;
    code->libraries_are_own = libraries_too;
}

void modules_use(struct code *of)
{
    code = of != NULL ? of : &own_code;
}

void modules_free(struct code *of)
{
    for (size_t i = 0; i < of->count; i++) {
        if (of->modules[i] == &of->jit)
            continue;
        cfi_free(&of->modules[i]->cfi);
        sys_free(of->modules[i], sizeof *of->modules[i]);
    }
    for (struct code_map *map = of->all, *older; map != NULL; map = older) {
        older = map->older;
        sys_free(map, map->bytes);
    }
    *of = (struct code){.count = 0};
}

bool modules_have_counts(void)
{
    for (size_t i = 0; i < code->count; i++)
        if (code->modules[i]->counts)
            return true;
    return false;
}

bool modules_scan(void)
{
    struct buffer text = {0};
    code->entry = getauxval(AT_ENTRY);
    bool changed = read_maps(&text) && modules_scan_text((const char *)text.data);
    buffer_free(&text);
    return changed;
}

bool modules_scan_text(const char *text)
{
    struct code_map *map = NULL;
    size_t lines = 0;
    for (const char *at = text; *at != '\0'; at++)
        lines += *at == '\n';
    /* The last line may have no end. */
    size_t bytes = sizeof *map + (lines + 1) * sizeof map->ranges[0];
    if (lines > 0)
        map = sys_alloc(bytes);
    if (map == NULL)
        return false;
    map->bytes = bytes;
    if (code->count == 0)
        fill_map(map, text, true);
    fill_map(map, text, false);
    look_at_jit();
    struct code_map *same = find_same(map);
    if (same != NULL) {
        sys_free(map, bytes);
        map = same;
    } else {
        map->older = code->all;
        code->all = map;
    }
    bool changed = map != code->current;
    __atomic_store_n(&code->current, map, __ATOMIC_RELEASE);
    return changed;
}

const struct code_map *modules_current(void)
{
    return __atomic_load_n(&code->current, __ATOMIC_ACQUIRE);
}

const struct code_range *modules_find(const struct code_map *map, uint64_t pc)
{
    if (map == NULL)
        return NULL;
    size_t low = 0;
    size_t high = map->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (map->ranges[middle].end <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < map->count && map->ranges[low].start <= pc ? &map->ranges[low] : NULL;
}

size_t modules_count(void)
{
    return code->count;
}

struct module *modules_get(size_t id)
{
    return code->modules[id];
}

/* Thread safety: only the start code, and then the interval thread, scan: they write the modules, their number and the
 * list of maps. All other threads only read the current map. Modules never change once they are published, and are
 * never freed while the process is recorded.
 *
 * A map is reused when it is not the current one and has no readers. A reader increments the count first, and then
 * checks whether the map is still the current one: if not, it has touched only the count. So the memory of the count is
 * never freed, and a handler may be delayed anywhere for any time. A reader that exists only in the parent after a fork
 * keeps one map occupied in the child for good.
 *
 * `code` is written only by single-threaded programs that observe other processes. No locks. */
#define _GNU_SOURCE
#include "modules.h"

#include <string.h>
#include <sys/auxv.h>

#include "lookup.h"
#include "sys.h"

static struct code own_code;
static struct code *code = &own_code;

/* Find a mapping that the last scan contained too. */
static const struct code_range *find_loaded(const struct mapping *mapping)
{
    const struct code_range *range = modules_find(code->current, mapping->start);
    bool same =
        range != NULL && range->start == mapping->start && range->end == mapping->end && range->inode == mapping->inode;
    return same ? range : NULL;
}

bool modules_append(struct module *module)
{
    if (code->count >= MOST_MODULES)
        return false;
    module->id = (uint16_t)code->count;
    code->modules[code->count++] = module;
    return true;
}

/* Add the module of JIT code, whose addresses are run-time addresses. */
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
    jit->app = code->libraries_are_own; /* readers leave out unnamed code */
    return jit;
}

bool modules_have_jit(void)
{
    return code->jit.jit;
}

const char *modules_jit_dump(void)
{
    return code->jit_dump;
}

/* Return whether the mapping is perf's file of JIT code, jit-PID.dump, whose head the program maps for detection. */
static bool is_jit_dump(const char *path)
{
    const char *name = strrchr(path, '/');
    if (name == NULL || strncmp(name, "/jit-", 5) != 0)
        return false;
    const char *rest = name + 5;
    while (*rest >= '0' && *rest <= '9') /* sanitizers intercept strspn */
        rest++;
    return rest > name + 5 && strcmp(rest, ".dump") == 0;
}

static struct module *add_module(const struct mapping *mapping, uint64_t *base)
{
    bool is_new;
    if (strcmp(mapping->path, JIT_PATH) == 0)
        return add_jit(base);
    if (is_jit_dump(mapping->path)) {
        memcpy(code->jit_dump, mapping->path, sizeof code->jit_dump);
        return NULL;
    }
    struct module *module = code->objects < MOST_OBJECTS ? module_open(code, mapping, base, &is_new) : NULL;
    if (module == NULL || !is_new)
        return module;
    code->objects++;
    if (modules_append(module))
        return module;
    cfi_free(&module->cfi);
    sys_free(module, sizeof *module);
    return NULL;
}

static struct code_map *find_unread(void)
{
    struct code_map *map = code->maps;
    while (map != NULL && (map == code->current || __atomic_load_n(&map->readers, __ATOMIC_SEQ_CST) > 0))
        map = map->next;
    if (map == NULL && (map = sys_alloc(sizeof *map)) != NULL) {
        map->next = code->maps;
        code->maps = map;
    }
    return map;
}

/* Return an empty map with room for `most` ranges, or NULL. */
static struct code_map *new_map(size_t most)
{
    struct code_map *map = find_unread();
    size_t bytes = most * sizeof map->ranges[0];
    if (map != NULL && map->bytes < bytes) {
        if (map->bytes > 0)
            sys_free(map->ranges, map->bytes);
        map->ranges = sys_alloc(bytes);
        map->bytes = map->ranges != NULL ? bytes : 0;
    }
    if (map == NULL || map->bytes < bytes)
        return NULL;
    map->count = 0;
    return map;
}

static void add_range(struct code_map *map, const struct mapping *mapping)
{
    const struct code_range *loaded = find_loaded(mapping);
    struct code_range range = {.start = mapping->start, .end = mapping->end, .inode = mapping->inode};
    range.module = loaded != NULL ? loaded->module : add_module(mapping, &range.base);
    if (loaded != NULL)
        range.base = loaded->base;
    if (range.module != NULL)
        map->ranges[map->count++] = range;
}

/* `executable_first`: only make the program itself module 0, whatever the order of the addresses. If its entry point is
 * unknown, the program is the object below its libraries. */
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
    for (struct code_map *map = of->maps, *next; map != NULL; map = next) {
        next = map->next;
        if (map->bytes > 0)
            sys_free(map->ranges, map->bytes);
        sys_free(map, sizeof *map);
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

/* Publish the map; return whether it differs from the current one. */
static bool publish(struct code_map *map)
{
    const struct code_map *old = code->current;
    if (old != NULL && old->count == map->count &&
        memcmp(old->ranges, map->ranges, map->count * sizeof map->ranges[0]) == 0)
        return false;
    map->number = ++code->published;
    __atomic_store_n(&code->current, map, __ATOMIC_SEQ_CST);
    return true;
}

static bool is_mapped(const struct code_range *range)
{
    uint8_t is_resident;
    return SYS3(SYS_mincore, range->start, 1, &is_resident) != -ENOMEM;
}

/* Return the current map without the ranges no longer in memory, or NULL. */
static struct code_map *without_unloaded(void)
{
    const struct code_map *old = code->current;
    struct code_map *map = old != NULL ? new_map(old->count) : NULL;
    for (size_t i = 0; map != NULL && i < old->count; i++)
        if (old->ranges[i].module->jit || is_mapped(&old->ranges[i]))
            map->ranges[map->count++] = old->ranges[i];
    return map;
}

bool modules_drop(size_t unloaded)
{
    struct code_map *map = unloaded > 0 ? without_unloaded() : NULL;
    return map != NULL && code->current->count - map->count == unloaded && publish(map);
}

bool modules_scan(void)
{
    struct buffer text = {0};
    struct code_map *rest;
    bool changed = false;
    code->entry = getauxval(AT_ENTRY);
    code->is_unreadable = !own_maps_read(&text);
    if (!code->is_unreadable)
        changed = modules_scan_text((const char *)text.data);
    else if ((rest = without_unloaded()) != NULL)
        changed = publish(rest);
    buffer_free(&text);
    return changed;
}

bool modules_are_known(void)
{
    return __atomic_load_n(&own_code.current, __ATOMIC_RELAXED) != NULL;
}

bool modules_are_unreadable(void)
{
    return code->is_unreadable;
}

bool modules_scan_text(const char *text)
{
    struct code_map *map = NULL;
    size_t lines = 0;
    for (const char *at = text; *at != '\0'; at++)
        lines += *at == '\n';
    if (lines > 0)
        map = new_map(lines + 1); /* the last line may be unterminated */
    if (map == NULL)
        return false;
    if (code->count == 0)
        fill_map(map, text, true);
    fill_map(map, text, false);
    return publish(map);
}

const struct code_map *modules_current(void)
{
    return __atomic_load_n(&code->current, __ATOMIC_ACQUIRE);
}

const struct code_map *modules_enter(void)
{
    struct code_map *map;
    while ((map = __atomic_load_n(&code->current, __ATOMIC_SEQ_CST)) != NULL) {
        __atomic_fetch_add(&map->readers, 1, __ATOMIC_SEQ_CST);
        if (map == __atomic_load_n(&code->current, __ATOMIC_SEQ_CST))
            break;
        modules_leave(map);
    }
    return map;
}

void modules_leave(const struct code_map *map)
{
    if (map != NULL)
        __atomic_fetch_sub(&((struct code_map *)map)->readers, 1, __ATOMIC_RELEASE);
}

const struct code_range *modules_find(const struct code_map *map, uint64_t pc)
{
    if (map == NULL)
        return NULL;
    size_t next = COUNT_LEADING(map->count, at, map->ranges[at].end <= pc);
    return next < map->count && map->ranges[next].start <= pc ? &map->ranges[next] : NULL;
}

size_t modules_count(void)
{
    return code->count;
}

struct module *modules_get(size_t id)
{
    return code->modules[id];
}

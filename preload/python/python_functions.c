/* Thread safety: all of it belongs to the interval thread, under the collector's lock. */
#define _GNU_SOURCE
#include <string.h>

#include "lookup.h"
#include "modules.h"
#include "python.h"
#include "sys.h"

/* Programs that generate code at run time could have any number of functions. */
#define MOST_FUNCTIONS 8192

struct entry {
    uint64_t key[2];
    struct module *module;
};

static struct table *entries(void)
{
    struct table *table = &python_used()->functions;
    table->record_size = sizeof(struct entry);
    table->key_size = sizeof((struct entry *)0)->key;
    return table;
}

static uint64_t hash_of(uint64_t hash, const char *text)
{
    return (fnv_text(hash, text) ^ 0xff) * FNV_PRIME;
}

/* Make a key of two 64-bit hashes, unique for each function of a program. */
static void make_key(uint64_t *key, const char *file, const struct module_function *function)
{
    key[0] = hash_of(hash_of(FNV_OFFSET ^ function->line, file), function->name);
    key[1] = hash_of(hash_of(0x9e3779b97f4a7c15u * (function->line + 1), function->name), file);
}

struct module *modules_find_function(const char *file, const struct module_function *function)
{
    uint64_t key[2];
    make_key(key, file, function);
    const struct entry *entry = table_find(entries(), key);
    return entry != NULL ? entry->module : NULL;
}

/* Create the module, in one mapping with the function's record, its name and its line table. */
static struct module *make(const char *file, const struct module_function *function, uint32_t version)
{
    size_t name_bytes = strlen(function->name) + 1;
    struct {
        struct module module;
        struct module_function function;
        uint8_t rest[];
    } *made = sys_alloc(sizeof *made + name_bytes + function->line_bytes);
    if (made == NULL)
        return NULL;
    memcpy(made->rest, function->name, name_bytes);
    memcpy(made->rest + name_bytes, function->lines, function->line_bytes);
    made->function = *function;
    made->function.name = (const char *)made->rest;
    made->function.lines = made->rest + name_bytes;
    made->function.version = version;
    made->module.function = &made->function;
    size_t length = strlen(file);
    size_t most = sizeof made->module.path - 1;
    memcpy(made->module.path, file, length < most ? length : most);
    made->module.high = UINT32_MAX;
    return &made->module;
}

struct module *modules_add_function(const char *file, const struct module_function *function, uint32_t version)
{
    struct entry entry = {.module = NULL};
    make_key(entry.key, file, function);
    if (entries()->count >= MOST_FUNCTIONS)
        return NULL;
    struct module *module = make(file, function, version);
    struct entry *added = module != NULL && modules_append(module) ? table_add(entries(), entry.key, NULL) : NULL;
    if (added != NULL)
        added->module = module;
    return module;
}

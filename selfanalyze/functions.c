/* Thread safety: the watched thread writes (calls.c). A function and its module are complete before function_count
 * includes them (release); the writing thread reads no others (acquire). */
#define _GNU_SOURCE
#include "functions.h"

#include <string.h>

#include "lookup.h"
#include "loaded.h"

#define SLOTS (2 * MOST_FUNCTIONS)

/* The function that was at this address when `epoch` was the number of closes_epoch. */
struct slot {
    uint64_t address, epoch;
    uint32_t number; /* 1 + id */
};

static struct function functions[MOST_FUNCTIONS];
static size_t function_count;
static struct slot slots[SLOTS];
static size_t slots_used;
static struct module modules[MOST_MODULES];
static size_t module_count;

/* Find or add the module. A library that was closed and reopened is the same, even at another address. */
static uint32_t find_module(const struct object *object)
{
    struct module module = {.path = ""};
    strncpy(module.path, object->path, sizeof module.path - 1);
    object_build_id(object, module.build_id, sizeof module.build_id);
    for (uint32_t i = 0; i < module_count; i++)
        if (strcmp(modules[i].path, module.path) == 0 && strcmp(modules[i].build_id, module.build_id) == 0)
            return i;
    if (module_count == MOST_MODULES)
        return MOST_MODULES;
    modules[module_count] = module;
    return (uint32_t)module_count++;
}

uint64_t functions_hash(const char *text)
{
    return fnv_text(FNV_OFFSET, text);
}

static int64_t value_of(const struct function *function)
{
    if (function->module == MOST_MODULES)
        return (int64_t)function->address;
    const struct module *module = &modules[function->module];
    const char *slash = strrchr(module->path, '/');
    const char *name = slash != NULL ? slash + 1 : module->path;
    uint64_t hash = functions_hash(module->build_id[0] != '\0' ? module->build_id : name);
    return (int64_t)((hash ^ function->address) * FNV_PRIME);
}

static const struct function *add(uint32_t module, uint64_t address)
{
    if (function_count == MOST_FUNCTIONS)
        return &functions[MOST_FUNCTIONS - 1];
    struct function *function = &functions[function_count];
    *function = (struct function){.address = address, .id = (uint32_t)function_count, .module = module};
    function->value = value_of(function);
    __atomic_store_n(&function_count, function_count + 1, __ATOMIC_RELEASE);
    return function;
}

/* `guess`: usually the right one, or NULL. */
static const struct function *look_up(uint64_t address, const struct function *guess)
{
    struct object object;
    uint32_t module = object_at(address, &object) ? find_module(&object) : MOST_MODULES;
    if (module < MOST_MODULES)
        address -= object.base;
    if (guess != NULL && guess->module == module && guess->address == address)
        return guess;
    for (size_t i = 0; i < function_count; i++)
        if (functions[i].module == module && functions[i].address == address)
            return &functions[i];
    return add(module, address);
}

static struct slot *slot_of(uint64_t address)
{
    size_t at = (size_t)((address * 0x9e3779b97f4a7c15u) >> 40) % SLOTS;
    while (slots[at].number != 0 && slots[at].address != address)
        at = (at + 1) % SLOTS;
    return &slots[at];
}

const struct function *functions_find(const void *pointer)
{
    uint64_t address = (uintptr_t)pointer, epoch = closes_epoch();
    struct slot *slot = slot_of(address);
    const struct function *cached = slot->number != 0 ? &functions[slot->number - 1] : NULL;
    if (cached != NULL && slot->epoch == epoch)
        return cached;
    const struct function *function = look_up(address, cached);
    if (cached == NULL && slots_used == MOST_FUNCTIONS) {
        memset(slots, 0, sizeof slots);
        slots_used = 0;
        slot = slot_of(address);
    }
    slots_used += slot->number == 0;
    *slot = (struct slot){address, epoch, function->id + 1};
    return function;
}

size_t functions_count(void)
{
    return __atomic_load_n(&function_count, __ATOMIC_ACQUIRE);
}

const struct function *functions_get(size_t id)
{
    return &functions[id];
}

const struct module *functions_module(size_t id)
{
    return &modules[id];
}

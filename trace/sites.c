/* Thread safety: everything belongs to the lane's thread. No locks but the loader's. */
#define _GNU_SOURCE
#include "lane.h"

#include <string.h>

#include "coding.h"
#include "lookup.h"
#include "loaded.h"
#include "resolve.h"
#include "sys.h"

/* The object at an address. */
struct search {
    bool is_found;
    uint64_t base;
    char path[4096];
    char build_id[129];
};

static bool start_table(struct site_table *table)
{
    table->keys = sys_alloc_untouched(SITE_SLOTS * sizeof *table->keys);
    table->numbers = sys_alloc_untouched(SITE_SLOTS * sizeof *table->numbers);
    return table->keys != NULL && table->numbers != NULL;
}

bool sites_start(struct sites *sites)
{
    sites->modules = sys_alloc_untouched(MOST_MODULES * sizeof *sites->modules);
    return start_table(&sites->addresses) && start_table(&sites->places) && sites->modules != NULL;
}

/* Return the slot of a key, or a free one: there are more slots than sites. */
static size_t slot_of(const struct site_table *table, uint64_t key)
{
    size_t slot = (size_t)((key * 0x9e3779b97f4a7c15u) >> 40) % SITE_SLOTS;
    while (table->keys[slot] != 0 && table->keys[slot] != key)
        slot = (slot + 1) % SITE_SLOTS;
    return slot;
}

static void copy(const struct object *object, void *context)
{
    struct search *search = context;
    search->is_found = true;
    search->base = object->base;
    strncpy(search->path, object->path, sizeof search->path - 1);
    object_build_id(object, search->build_id, sizeof search->build_id);
}

static void put_text(struct buffer *words, const char *text)
{
    size_t length = strlen(text);
    buffer_varint(words, length);
    buffer_bytes(words, text, length);
}

static uint64_t hash_of(const char *text)
{
    return fnv_text(FNV_OFFSET, text);
}

/* Return 1 + the module's number among those written; 0 if it has none. */
static uint32_t module_number(struct sites *sites, struct search *search, struct buffer *words)
{
    if (!search->is_found)
        return 0;
    uint64_t identity = 31 * hash_of(search->path) ^ hash_of(search->build_id);
    for (uint32_t i = 0; i < sites->module_count; i++)
        if (sites->modules[i] == identity)
            return i + 1;
    if (sites->module_count == MOST_MODULES)
        return 0;
    sites->modules[sites->module_count++] = identity;
    if (search->path[0] == '\0') { /* the loader has no name for the program */
        long length = sys_readlink("/proc/self/exe", search->path, sizeof search->path - 1);
        search->path[length > 0 ? length : 0] = '\0';
    }
    buffer_u8(words, RECORD_MODULE);
    put_text(words, search->path);
    put_text(words, search->build_id);
    return sites->module_count;
}

static uint32_t add(struct sites *sites, uint32_t module, uint64_t offset, size_t slot, struct buffer *words)
{
    if (sites->count == MOST_SITES - 1)
        return 0;
    buffer_u8(words, RECORD_SITE);
    buffer_varint(words, module);
    buffer_varint(words, offset);
    sites->places.numbers[slot] = ++sites->count;
    return sites->count;
}

/* Look up the module that is currently at the address. */
static uint32_t look_up(struct sites *sites, uint64_t address, struct buffer *words)
{
    struct search search = {.is_found = false};
    object_use_at(address, copy, &search);
    uint32_t module = module_number(sites, &search, words);
    uint64_t offset = address - (module > 0 ? search.base : 0);
    uint64_t key = ((uint64_t)module << 52 ^ offset) + 1;
    size_t slot = slot_of(&sites->places, key);
    if (sites->places.keys[slot] == 0 && add(sites, module, offset, slot, words) != 0)
        sites->places.keys[slot] = key;
    return sites->places.keys[slot] != 0 ? sites->places.numbers[slot] : 0;
}

uint32_t sites_number(struct sites *sites, uint64_t address, struct buffer *words)
{
    uint32_t unloads = loader_unloads();
    if (address == 0)
        return 0;
    if (unloads != sites->unloads)
        memset(sites->addresses.keys, 0, SITE_SLOTS * sizeof *sites->addresses.keys);
    sites->unloads = unloads;
    size_t slot = slot_of(&sites->addresses, address);
    if (sites->addresses.keys[slot] != 0)
        return sites->addresses.numbers[slot];
    uint32_t number = look_up(sites, address, words);
    if (number != 0) {
        sites->addresses.keys[slot] = address;
        sites->addresses.numbers[slot] = number;
    }
    return number;
}

/* Thread safety: under gpu_lock. Memory from mmap, which works in the interval thread. */
#define _GNU_SOURCE
#include "gpu.h"
#include "lookup.h"

#define MOST_NAMES 8192u
#define HOMES (2 * MOST_NAMES)
#define MOST_NAME 4000u
#define RECENT 1024u
#define RECORD_NAMES 2
enum { NAME_NONE, NAME_OTHERS, NAME_FIRST };

struct name {
    uint32_t start, length;
};

static struct name names[MOST_NAMES];
static uint32_t homes[HOMES]; /* number of a name; 0: free */
static uint32_t count = NAME_FIRST, written = NAME_FIRST;
static struct buffer text;
/* Pointers seen last: CUPTI gives the same one for the same kernel, but may give it again after a module is unloaded.
 */
static struct {
    const char *pointer;
    uint32_t number;
} recent[RECENT];

static bool is_name(uint32_t number, const char *name, size_t length)
{
    return names[number].length == length && memcmp(text.data + names[number].start, name, length) == 0;
}

static uint32_t add(const char *name, size_t length, uint32_t home)
{
    if (count == MOST_NAMES || !buffer_reserve(&text, length))
        return NAME_OTHERS;
    names[count] = (struct name){(uint32_t)text.length, (uint32_t)length};
    buffer_bytes(&text, name, length);
    homes[home] = count;
    return count++;
}

static uint32_t find(const char *name, size_t length)
{
    uint32_t home = (uint32_t)(fnv_bytes(FNV_OFFSET, (const uint8_t *)name, length) % HOMES);
    for (; homes[home] != 0; home = (home + 1) % HOMES)
        if (is_name(homes[home], name, length))
            return homes[home];
    return add(name, length, home);
}

uint32_t kernel_name(const char *name)
{
    if (name == NULL || *name == '\0')
        return NAME_NONE;
    size_t length = strnlen(name, MOST_NAME);
    size_t place = ((uintptr_t)name >> 4) % RECENT;
    if (recent[place].pointer != name || !is_name(recent[place].number, name, length)) {
        uint32_t number = find(name, length);
        if (number == NAME_OTHERS)
            return number;
        recent[place].pointer = name;
        recent[place].number = number;
    }
    return recent[place].number;
}

void kernel_names_put(struct buffer *out)
{
    if (written == count)
        return;
    struct buffer record = {0};
    buffer_varint(&record, written);
    for (; written < count; written++) {
        buffer_varint(&record, names[written].length);
        buffer_bytes(&record, text.data + names[written].start, names[written].length);
    }
    buffer_varint(out, RECORD_NAMES);
    buffer_varint(out, record.length);
    buffer_bytes(out, record.data, record.length);
    buffer_free(&record);
}

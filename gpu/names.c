/* Thread safety: under gpu_lock. Memory from mmap, which works in the interval thread. */
#define _GNU_SOURCE
#include "fixed_text.h"
#include "gpu.h"
#include "lookup.h"

#define MOST_NAMES 8192u
#define HOMES (2 * MOST_NAMES)
#define MOST_NAME 4000u
#define RECENT 1024u
#define RECORD_NAMES 2
#define RECORD_DEVICES 9
#define MOST_DEVICE_NAME 128
enum { NAME_NONE, NAME_OTHERS, NAME_FIRST };

struct name {
    uint32_t start, length;
};

static struct name names[MOST_NAMES];
static uint32_t homes[HOMES]; /* number of a name; 0: free */
static uint32_t count = NAME_FIRST, written = NAME_FIRST;
static struct buffer text;
static struct {
    char name[MOST_DEVICE_NAME];
    bool is_new;
} devices[MOST_DEVICES];
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

static void kernels_put(struct buffer *out)
{
    if (written == count)
        return;
    struct buffer record = {0};
    buffer_varint(&record, written);
    for (; written < count; written++) {
        buffer_varint(&record, names[written].length);
        buffer_bytes(&record, text.data + names[written].start, names[written].length);
    }
    buffer_record(out, RECORD_NAMES, &record);
    buffer_free(&record);
}

void device_name(uint32_t device, const char *name)
{
    if (device >= MOST_DEVICES - 1 || name == NULL)
        return;
    devices[device].name[0] = '\0';
    text_append(devices[device].name, MOST_DEVICE_NAME, name);
    devices[device].is_new = true;
}

static void devices_put(struct buffer *out)
{
    struct buffer record = {0};
    for (uint32_t device = 0; device < MOST_DEVICES; device++) {
        if (!devices[device].is_new)
            continue;
        buffer_varint(&record, device);
        buffer_varint(&record, strlen(devices[device].name));
        buffer_text(&record, devices[device].name);
        devices[device].is_new = false;
    }
    buffer_record(out, RECORD_DEVICES, &record);
    buffer_free(&record);
}

void names_put(struct buffer *out)
{
    devices_put(out);
    kernels_put(out);
}

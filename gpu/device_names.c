/* Thread safety: under gpu_lock. Memory from mmap, which works in the interval thread. */
#define _GNU_SOURCE
#include "gpu.h"

#define MOST_NAME 128
#define RECORD_DEVICES 9

static char names[MOST_DEVICES][MOST_NAME];
static bool is_new[MOST_DEVICES];

void device_name(uint32_t device, const char *name)
{
    if (device >= MOST_DEVICES - 1 || name == NULL)
        return;
    size_t length = strnlen(name, MOST_NAME - 1);
    memcpy(names[device], name, length);
    names[device][length] = '\0';
    is_new[device] = true;
}

void device_names_put(struct buffer *out)
{
    struct buffer record = {0};
    for (uint32_t device = 0; device < MOST_DEVICES; device++) {
        if (!is_new[device])
            continue;
        size_t length = strlen(names[device]);
        buffer_varint(&record, device);
        buffer_varint(&record, length);
        buffer_bytes(&record, names[device], length);
        is_new[device] = false;
    }
    if (record.length > 0) {
        buffer_varint(out, RECORD_DEVICES);
        buffer_varint(out, record.length);
        buffer_bytes(out, record.data, record.length);
    }
    out->failed |= record.failed;
    buffer_free(&record);
}

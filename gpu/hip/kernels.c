/* Thread safety: any thread loads code, and a callback runs on it. Names are kept for good: records may come after the
 * code has been unloaded, and numbers are not given again. A name is published by an atomic store. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "rocprofiler.h"

#define MOST_KERNELS (1u << 17)
#define MOST_TEXT ((size_t)16 << 20)
#define MOST_NAME 4000

static char *names[MOST_KERNELS];
static size_t text_bytes;

const char *kernels_find(uint64_t kernel)
{
    return kernel < MOST_KERNELS ? __atomic_load_n(&names[kernel], __ATOMIC_ACQUIRE) : NULL;
}

static void keep(uint64_t kernel, const char *name)
{
    static const char suffix[] = ".kd"; /* of the symbol of a kernel's descriptor */
    size_t length = strnlen(name, MOST_NAME), suffix_length = sizeof suffix - 1;
    if (length > suffix_length && memcmp(name + length - suffix_length, suffix, suffix_length) == 0)
        length -= suffix_length;
    if (kernel >= MOST_KERNELS || __atomic_add_fetch(&text_bytes, length + 1, __ATOMIC_RELAXED) > MOST_TEXT)
        return;
    char *text = malloc(length + 1);
    if (text == NULL)
        return;
    memcpy(text, name, length);
    text[length] = '\0';
    free(__atomic_exchange_n(&names[kernel], text, __ATOMIC_ACQ_REL));
}

void kernels_callback(struct rocprofiler_called record, void *user, void *data)
{
    size_t at = field_u32(&record, CALLED_KIND) == CALLBACK_CODE_OBJECT ? CALLED_KIND : CALLED_KIND_OLD;
    if (field_u32(&record, at) != CALLBACK_CODE_OBJECT ||
        field_u32(&record, at + CALLED_OPERATION) != CODE_OBJECT_KERNEL ||
        field_u32(&record, at + CALLED_PHASE) != PHASE_LOAD)
        return;
    const void *symbol = field_pointer(&record, at + CALLED_DATA);
    const char *name = symbol != NULL ? field_pointer(symbol, SYMBOL_NAME) : NULL;
    if (name != NULL)
        keep(field_u64(symbol, SYMBOL_KERNEL), name);
}

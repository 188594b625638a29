/* Thread safety: everything is guarded by the lock of coding.h. */
#define _GNU_SOURCE
#include "coding.h"

#include <stdlib.h>
#include <string.h>

#include "lane.h"
#include "sys.h"

#define BUCKETS 4096u

struct object {
    uint64_t handle;
    enum object_kind kind;
    uint32_t below; /* next in its bucket, or in the list of free ones */
    uint32_t version;
    int rank, size;
    uint8_t *words; /* the description for a reader */
    size_t length;
};

static struct object *objects; /* [MOST_OBJECTS]; number 0 is none */
static uint32_t buckets[BUCKETS];
static uint32_t count, free_one, versions_given;

static uint32_t *bucket_of(enum object_kind kind, uint64_t handle)
{
    return &buckets[((handle ^ (uint64_t)kind << 60) * 0x9e3779b97f4a7c15u >> 40) % BUCKETS];
}

static uint32_t find(enum object_kind kind, uint64_t handle)
{
    uint32_t number = *bucket_of(kind, handle);
    while (number != 0 && (objects[number].handle != handle || objects[number].kind != kind))
        number = objects[number].below;
    return number;
}

static void use(struct event *event, uint32_t number)
{
    event->fields |= HAS_OBJECT;
    event->object = number;
    event->rank = objects[number].rank;
    event->size = objects[number].size;
}

bool incprof_mpi_object(struct event *event, enum object_kind kind, uint64_t handle)
{
    tables_lock();
    uint32_t number = find(kind, handle);
    if (number != 0)
        use(event, number);
    tables_unlock();
    return number != 0;
}

/* Return a free number; 0 if there is none. */
static uint32_t take_number(void)
{
    uint32_t number = free_one;
    if (objects == NULL)
        objects = sys_alloc_untouched(MOST_OBJECTS * sizeof *objects);
    if (number != 0)
        free_one = objects[number].below;
    else if (objects != NULL && count < MOST_OBJECTS - 1)
        number = ++count;
    return number;
}

static void put_members(struct buffer *words, const struct members *members, int n)
{
    buffer_varint(words, (uint64_t)n);
    for (int i = 0; i < n; i++) {
        buffer_zigzag(words, members[i].first);
        buffer_zigzag(words, members[i].stride);
        buffer_varint(words, (uint64_t)members[i].count);
    }
}

static void describe(struct object *object, uint32_t number, const struct members *local, int locals,
                     const struct members *remote, int remotes, const char *name)
{
    struct buffer words = {0};
    size_t length = name != NULL ? strlen(name) : 0;
    buffer_u8(&words, RECORD_OBJECT);
    buffer_varint(&words, number);
    buffer_varint(&words, object->kind);
    buffer_varint(&words, (uint64_t)object->rank);
    buffer_varint(&words, (uint64_t)object->size);
    put_members(&words, local, locals);
    put_members(&words, remote, remotes);
    buffer_varint(&words, length);
    buffer_bytes(&words, name != NULL ? name : "", length);
    free(object->words);
    object->words = words.failed ? NULL : malloc(words.length);
    object->length = object->words != NULL ? words.length : 0;
    if (object->words != NULL)
        memcpy(object->words, words.data, words.length);
    buffer_free(&words);
}

void incprof_mpi_add_object(struct event *event, enum object_kind kind, uint64_t handle, int rank, int size,
                            const struct members *local, int locals, const struct members *remote, int remotes,
                            const char *name)
{
    tables_lock();
    uint32_t number = take_number();
    if (number != 0) {
        struct object *object = &objects[number];
        uint32_t *bucket = bucket_of(kind, handle);
        object->handle = handle;
        object->kind = kind;
        object->version = ++versions_given;
        object->rank = rank > 0 ? rank : 0;
        object->size = size > 0 ? size : 0;
        object->below = *bucket;
        *bucket = number;
        describe(object, number, local, locals, remote, remotes, name);
        use(event, number);
    }
    tables_unlock();
}

void incprof_mpi_drop_object(enum object_kind kind, uint64_t handle)
{
    tables_lock();
    uint32_t number = find(kind, handle);
    if (number != 0) {
        uint32_t *link = bucket_of(kind, handle);
        while (*link != number)
            link = &objects[*link].below;
        *link = objects[number].below;
        objects[number].below = free_one;
        free_one = number;
    }
    tables_unlock();
}

void objects_explain(uint32_t *versions, uint32_t number, struct buffer *words)
{
    tables_lock();
    if (versions[number] != objects[number].version) {
        versions[number] = objects[number].version;
        buffer_bytes(words, objects[number].words, objects[number].length);
    }
    tables_unlock();
}

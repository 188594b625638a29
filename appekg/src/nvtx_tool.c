/* The other direction: the ranges of NVTX that a program, or PyTorch in it, has become heartbeats, without a change of
 * the program, when NVTX_INJECTION64_PATH names this library.
 *
 * An id is made of the range's name, so that it is the same in all ranks and runs. Thread safety: `lock` guards the
 * names; the catalogue's lock is taken under it. The stack of ranges is the thread's own. */
#define _GNU_SOURCE
#include <string.h>

#include "appekg.h"
#include "catalogue.h"
#include "fixed_text.h"
#include "lookup.h"
#include "nvtx_ranges.h"
#include "record.h"

#define FIRST_ID (1u << 24)
#define OTHER_NAMES (FIRST_ID - 1) /* the id of all names beyond the most */
#define NAMES 8192u
#define MOST_NAMES 4096u
#define MOST_DEPTH 28u /* of pushed ranges in a thread; others are no heartbeats */
#define MOST_DOMAINS 64u
#define MESSAGE_TEXT 1
#define MESSAGE_REGISTERED 3

/* A range's or mark's attributes, as far as they are used. */
struct attributes {
    uint16_t version, size;
    uint32_t unused[7];
    int32_t message_type;
    const void *message;
};
_Static_assert(offsetof(struct attributes, message_type) == 32 && offsetof(struct attributes, message) == 40,
               "as in NVIDIA's header");

static struct name {
    uint32_t id; /* 0: free */
    char text[LONGEST_BEAT_NAME];
} names[NAMES];
static uint32_t name_count;
static struct lock lock;
static char domains[MOST_DOMAINS][LONGEST_BEAT_NAME];
static uint32_t domain_count;

struct pushed {
    uint32_t id, domain;
};
static __thread struct pushed stack[MOST_DEPTH];
static __thread uint32_t depth;

/* Return the number of a domain; 0: none. */
static uint32_t number_of(const void *domain)
{
    uintptr_t at = (uintptr_t)domain - (uintptr_t)domains;
    return domain != NULL && at < sizeof domains ? (uint32_t)(at / sizeof *domains) + 1 : 0;
}

/* PyTorch appends a number to each name: ", seq = 17". */
static void cut_sequence(char *text)
{
    char *end = strstr(text, ", seq = ");
    if (end != NULL)
        *end = '\0';
}

/* Return an id for a new name: that of its hash, or the next one that is free. Under the lock. */
static uint32_t new_id(const char *name)
{
    uint32_t id = FIRST_ID + (uint32_t)fnv_text(FNV_OFFSET, name) % FIRST_ID;
    for (uint32_t at = 0; at < NAMES; at++) {
        if (names[at].id != id)
            continue;
        id++;
        at = UINT32_MAX; /* from the first one on */
    }
    return id;
}

static uint32_t id_of(const void *domain, const char *text)
{
    char name[LONGEST_BEAT_NAME] = "";
    if (number_of(domain) > 0) {
        text_append(name, sizeof name, domains[number_of(domain) - 1]);
        text_append(name, sizeof name, ": ");
    }
    text_append(name, sizeof name, text != NULL && *text != '\0' ? text : "range");
    cut_sequence(name);
    uint64_t mask = lock_take(&lock);
    uint32_t at = (uint32_t)fnv_text(FNV_OFFSET, name) % NAMES;
    while (names[at].id != 0 && strcmp(names[at].text, name) != 0)
        at = (at + 1) % NAMES;
    if (names[at].id == 0 && name_count < MOST_NAMES) {
        name_count++;
        names[at].id = new_id(name);
        memcpy(names[at].text, name, sizeof name);
        ekg_name(names[at].id, name);
    }
    uint32_t id = names[at].id;
    lock_give(&lock, mask);
    return id != 0 ? id : OTHER_NAMES;
}

static uint32_t id_with(const void *domain, const struct attributes *attributes)
{
    if (attributes->message_type == MESSAGE_REGISTERED && attributes->message != NULL)
        return (uint32_t)(uintptr_t)attributes->message;
    return id_of(domain, attributes->message_type == MESSAGE_TEXT ? attributes->message : NULL);
}

static int push(const void *domain, uint32_t id)
{
    if (depth < MOST_DEPTH) {
        stack[depth] = (struct pushed){id, number_of(domain)};
        ekg_begin(id);
    }
    return (int)depth++;
}

/* End the innermost range of a domain, which need not be the thread's innermost. */
static int pop(const void *domain)
{
    if (depth > MOST_DEPTH || depth == 0)
        return depth > 0 ? (int)--depth : -1;
    uint32_t at = depth, number = number_of(domain);
    while (at > 0 && stack[at - 1].domain != number)
        at--;
    if (at == 0)
        return -1;
    ekg_end(stack[at - 1].id);
    memmove(&stack[at - 1], &stack[at], (depth - at) * sizeof *stack);
    return (int)--depth;
}

static uint64_t start(uint32_t id)
{
    ekg_begin(id);
    return id;
}

static void mark_text(const char *text)
{
    ekg_pulse(id_of(NULL, text));
}
static void mark_with(const struct attributes *attributes)
{
    ekg_pulse(id_with(NULL, attributes));
}
static void domain_mark(const void *domain, const struct attributes *with)
{
    ekg_pulse(id_with(domain, with));
}
static uint64_t start_text(const char *text)
{
    return start(id_of(NULL, text));
}
static uint64_t start_wide(const void *text)
{
    (void)text;
    return start(id_of(NULL, NULL));
}
static uint64_t start_with(const struct attributes *attributes)
{
    return start(id_with(NULL, attributes));
}
static uint64_t domain_start(const void *domain, const struct attributes *with)
{
    return start(id_with(domain, with));
}
static void end(uint64_t range)
{
    ekg_end((uint32_t)range);
}
static void domain_end(const void *domain, uint64_t range)
{
    (void)domain;
    ekg_end((uint32_t)range);
}
static int push_text(const char *text)
{
    return push(NULL, id_of(NULL, text));
}
static int push_wide(const void *text)
{
    (void)text;
    return push(NULL, id_of(NULL, NULL));
}
static int push_with(const struct attributes *attributes)
{
    return push(NULL, id_with(NULL, attributes));
}
static int domain_push(const void *domain, const struct attributes *with)
{
    return push(domain, id_with(domain, with));
}
static int pop_innermost(void)
{
    return pop(NULL);
}

static const void *register_text(const void *domain, const char *text)
{
    return (const void *)(uintptr_t)id_of(domain, text);
}

static const void *domain_create(const char *given)
{
    const char *text = given != NULL ? given : "";
    uint64_t mask = lock_take(&lock);
    uint32_t at = 0;
    while (at < domain_count && strncmp(domains[at], text, LONGEST_BEAT_NAME - 1) != 0)
        at++;
    at = at < MOST_DOMAINS ? at : MOST_DOMAINS - 1;
    if (at == domain_count) {
        domain_count++;
        text_append(domains[at], LONGEST_BEAT_NAME, text);
    }
    lock_give(&lock, mask);
    return domains[at];
}

/* Put functions into a module's table, by their numbers. */
#define PUT(number, tool_function)                                                                                     \
    do {                                                                                                               \
        if ((number) < size && table[number] != NULL)                                                                  \
            *table[number] = (nvtx_function *)(tool_function);                                                         \
    } while (0)

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_export_table *tables)
{
    const struct nvtx_callbacks *callbacks = tables(NVTX_TABLE_CALLBACKS);
    nvtx_function ***table = NULL;
    unsigned size = 0;
    /* Beats are not to become ranges that become beats. */
    if (tables == nvtx_ranges_table || callbacks == NULL ||
        callbacks->module_table(NVTX_MODULE_CORE, &table, &size) == 0)
        return 0;
    PUT(1, mark_with);
    PUT(2, mark_text);
    PUT(4, start_with);
    PUT(5, start_text);
    PUT(6, start_wide);
    PUT(7, end);
    PUT(8, push_with);
    PUT(9, push_text);
    PUT(10, push_wide);
    PUT(11, pop_innermost);
    if (callbacks->module_table(NVTX_MODULE_DOMAINS, &table, &size) == 0)
        return 1;
    PUT(1, domain_mark);
    PUT(2, domain_start);
    PUT(3, domain_end);
    PUT(4, domain_push);
    PUT(5, pop);
    PUT(10, register_text);
    PUT(12, domain_create);
    return 1;
}

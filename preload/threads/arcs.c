/* Thread safety: a table's owner, with signals blocked or by the entry stubs' single instruction, writes `from`, then
 * `self` (release), and adds to `count`. The collector reads `self` (acquire) and `count`, and it alone writes `seen`.
 * A larger table is published by a release store to *newest; the older ones stay in place as long as the record does.
 * No locks. */
#define _GNU_SOURCE
#include "arcs.h"

#include "sys.h"

void arcs_init_table(struct arc_table *table, size_t homes)
{
    table->homes = homes;
    table->slots = ARCS_SLOTS(homes) - 1;
}

static struct arc_table *new_table(size_t homes, struct arc_table *older)
{
    size_t bytes = sizeof(struct arc_table) + ARCS_SLOTS(homes) * sizeof(struct arc);
    struct arc_table *table = sys_alloc(bytes);
    if (table == NULL)
        return NULL;
    arcs_init_table(table, homes);
    table->older = older;
    table->bytes = bytes;
    return table;
}

/* Return the arc's home, as the entry stubs compute it. */
static size_t home_of(const struct arc_table *table, uint64_t from, uint64_t self)
{
    return (size_t)((((from << ARC_FROM_SHIFT) + self) >> ARC_SHIFT) & (table->homes - 1));
}

static struct arc *find_slot(struct arc_table *table, uint64_t from, uint64_t self)
{
    for (size_t i = home_of(table, from, self); i < table->slots; i++) {
        struct arc *arc = &table->arcs[i];
        if (arc->self == 0 || (arc->self == self && arc->from == from))
            return arc;
    }
    return NULL;
}

/* Claim a slot. At most half of the homes are used, so that a look-up rarely needs a second probe. */
static struct arc *claim_slot(struct arc_table **newest, uint64_t from, uint64_t self)
{
    for (;;) {
        struct arc_table *table = *newest;
        struct arc *arc = find_slot(table, from, self);
        if (arc != NULL && (arc->self != 0 || table->used < table->homes / 2))
            return arc;
        struct arc_table *larger = new_table(table->homes * 2, table);
        if (larger == NULL)
            return arc; /* out of memory: fill this one up */
        __atomic_store_n(newest, larger, __ATOMIC_RELEASE);
    }
}

void arcs_count(struct arc_table **newest, uint64_t from, uint64_t self)
{
    struct arc *arc = claim_slot(newest, from, self);
    if (arc == NULL)
        return;
    if (arc->self == 0) {
        (*newest)->used++;
        arc->from = from;
        __atomic_store_n(&arc->self, self, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&arc->count, arc->count + 1, __ATOMIC_RELAXED);
}

void arcs_take(struct arc_table *const *newest, arcs_taker take, void *context)
{
    struct arc_table *table = __atomic_load_n(newest, __ATOMIC_ACQUIRE);
    for (; table != NULL; table = table->older) {
        for (size_t i = 0; i < table->slots; i++) {
            struct arc *arc = &table->arcs[i];
            uint64_t self = __atomic_load_n(&arc->self, __ATOMIC_ACQUIRE);
            if (self == 0)
                continue;
            uint64_t calls = __atomic_load_n(&arc->count, __ATOMIC_RELAXED);
            if (calls == arc->seen)
                continue;
            take(context, arc->from, self, calls - arc->seen);
            arc->seen = calls;
        }
    }
}

static void ignore(void *context, uint64_t from, uint64_t self, uint64_t calls)
{
    (void)context, (void)from, (void)self, (void)calls;
}

void arcs_forget(struct arc_table *const *newest)
{
    arcs_take(newest, ignore, NULL);
}

void arcs_free(struct arc_table *newest)
{
    while (newest->bytes > 0) {
        struct arc_table *older = newest->older;
        sys_free(newest, newest->bytes);
        newest = older;
    }
}

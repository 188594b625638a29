#define _GNU_SOURCE
#include "arcs.h"

#include <signal.h>

#include "switch.h"
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

/* The same hash as in the entry stubs. */
static size_t home_of(const struct arc_table *table, uint64_t from, uint64_t self)
{
    uint64_t hash = (self * (uint64_t)ARC_HASH) >> ARC_HASH_SHIFT;
    return (size_t)((hash + from) & (table->homes - 1));
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

/* At most half of the homes are used, so that a look-up seldom needs a second probe. */
static struct arc *claim_slot(struct thread *thread, uint64_t from, uint64_t self)
{
    for (;;) {
        struct arc_table *table = thread->table;
        struct arc *arc = find_slot(table, from, self);
        if (arc != NULL && (arc->self != 0 || table->used < table->homes / 2))
            return arc;
        struct arc_table *larger = new_table(table->homes * 2, table);
        if (larger == NULL)
            return arc; /* no memory: fill this one up */
        __atomic_store_n(&thread->table, larger, __ATOMIC_RELEASE);
        incprof_tls.mask = (larger->homes - 1) * sizeof(struct arc);
        incprof_tls.arcs = larger->arcs;
    }
}

static void count(struct thread *thread, uint64_t from, uint64_t self)
{
    struct arc *arc = claim_slot(thread, from, self);
    if (arc == NULL)
        return;
    if (arc->self == 0) {
        thread->table->used++;
        arc->from = from;
        __atomic_store_n(&arc->self, self, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&arc->count, arc->count + 1, __ATOMIC_RELAXED);
}

void incprof_count_slow(uint64_t from, uint64_t self)
{
    if (switch_is_off())
        incprof_tls.arcs = NULL; /* the stubs leave at once from here on */
    if (!switch_is_on())
        return;
    uint64_t all = ~(uint64_t)0;
    uint64_t old = 0;
    SYS4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, sizeof all);
    struct thread *thread = incprof_tls.self;
    if (thread == NULL && (thread = thread_new()) != NULL)
        thread_start(thread, 0, 0, self); /* a thread that pthread_create did not make */
    if (thread != NULL)
        count(thread, from, self);
    SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof old);
}

void arcs_take(struct thread *thread, arcs_taker take, void *context)
{
    struct arc_table *table = __atomic_load_n(&thread->table, __ATOMIC_ACQUIRE);
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

void arcs_forget(struct thread *thread)
{
    arcs_take(thread, ignore, NULL);
}

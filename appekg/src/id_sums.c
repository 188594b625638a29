#define _GNU_SOURCE
#include "sink.h"

#include <string.h>

#include "lookup.h"

struct id_place {
    uint32_t id, at;
};

static struct id_sum *all(const struct id_sums *sums)
{
    return (struct id_sum *)sums->sums.data;
}

static struct id_place *places(const struct id_sums *sums)
{
    return (struct id_place *)sums->order.data;
}

size_t id_sums_count(const struct id_sums *sums)
{
    return sums->sums.length / sizeof(struct id_sum);
}

const struct id_sum *id_sums_at(const struct id_sums *sums, size_t n)
{
    return &all(sums)[places(sums)[n].at];
}

/* Return the number of places with a smaller id. */
static size_t place_of(const struct id_sums *sums, uint32_t id)
{
    return COUNT_LEADING(id_sums_count(sums), at, places(sums)[at].id < id);
}

/* Return the id's sum, or NULL if there is no room for another. */
static struct id_sum *find(struct id_sums *sums, uint32_t id)
{
    const struct id_sum fresh = {.id = id};
    size_t count = id_sums_count(sums);
    size_t place = place_of(sums, id);
    if (place < count && places(sums)[place].id == id)
        return &all(sums)[places(sums)[place].at];
    if (count >= sums->most || !buffer_reserve(&sums->sums, sizeof fresh) ||
        !buffer_reserve(&sums->order, sizeof(struct id_place)))
        return NULL;
    buffer_bytes(&sums->sums, &fresh, sizeof fresh);
    sums->order.length += sizeof(struct id_place);
    memmove(places(sums) + place + 1, places(sums) + place, (count - place) * sizeof(struct id_place));
    places(sums)[place] = (struct id_place){id, (uint32_t)count};
    return &all(sums)[count];
}

static void add_row(struct id_sum *sum, const struct row *row)
{
    sum->threads++;
    if (row->count > 0 && (sum->count == 0 || row->min_ns < sum->min_ns))
        sum->min_ns = row->min_ns;
    if (row->max_ns > sum->max_ns)
        sum->max_ns = row->max_ns;
    sum->count += row->count;
    sum->pulses += row->pulses;
    sum->executions += row->executions;
    sum->sum_ns += row->sum_ns;
    sum->sumsq_ns2 += row->sumsq_ns2;
    sum->nested_ns += row->nested_ns;
    sum->open += row->open;
    sum->open_total_ns += row->open_ns;
    if (row->open_ns > sum->open_ns)
        sum->open_ns = row->open_ns;
}

/* Close the interval. Time in beats is counted as in formats.md, below the columns; it is negative if an open beat was
 * forgotten. */
static void end_interval(struct id_sum *sum)
{
    uint64_t more = sum->sum_ns + sum->open_total_ns;
    uint64_t less = sum->nested_ns + sum->open_before_ns;
    sum->mean_ns = sum->count > 0 ? (sum->sum_ns + sum->count / 2) / sum->count : 0;
    sum->all_count += sum->count;
    sum->all_pulses += sum->pulses;
    sum->all_executions += sum->executions;
    sum->all_sum_ns += sum->sum_ns;
    sum->all_busy_ns += more > less ? more - less : 0;
}

static void start_interval(struct id_sum *sum)
{
    *sum = (struct id_sum){.id = sum->id,
                           .open_before_ns = sum->open_total_ns,
                           .all_count = sum->all_count,
                           .all_pulses = sum->all_pulses,
                           .all_executions = sum->all_executions,
                           .all_sum_ns = sum->all_sum_ns,
                           .all_busy_ns = sum->all_busy_ns};
}

void id_sums_add(struct id_sums *sums, const struct snapshot *snapshot)
{
    sums->left_out = 0;
    for (size_t i = 0; i < id_sums_count(sums); i++)
        start_interval(&all(sums)[i]);
    for (size_t i = 0; i < snapshot->count; i++) {
        struct id_sum *sum = find(sums, snapshot->rows[i].id);
        if (sum != NULL)
            add_row(sum, &snapshot->rows[i]);
        else
            sums->left_out++;
    }
    for (size_t i = 0; i < id_sums_count(sums); i++)
        end_interval(&all(sums)[i]);
}

void id_sums_free(struct id_sums *sums)
{
    buffer_free(&sums->sums);
    buffer_free(&sums->order);
    *sums = (struct id_sums){.most = sums->most};
}

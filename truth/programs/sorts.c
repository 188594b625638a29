/* Records, sorted by name with libc's qsort, by place with a recursive quicksort of our own, and looked up with
 * bsearch: all of them call comparators through pointers. */
#include "truth_log.h"
#include <stdint.h>
#include <string.h>

enum { BATCH = 4000, BATCHES = 50 };

struct record {
    char name[12];
    int32_t x, y;
};
typedef int comparator(const void *, const void *);

static struct record record[BATCHES][BATCH];
static uint32_t seed = 77;

static uint32_t random_word(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    return seed ^= seed << 5;
}

KEPT static void fill_batch(struct record *batch)
{
    for (int i = 0; i < BATCH; i++) {
        for (int c = 0; c < 11; c++)
            batch[i].name[c] = (char)('a' + random_word() % (c < 4 ? 2 : 26));
        batch[i].name[11] = 0;
        batch[i].x = (int32_t)(random_word() % 2000) - 1000;
        batch[i].y = (int32_t)(random_word() % 2000) - 1000;
    }
}

static int by_name(const void *a, const void *b)
{
    const char *left = ((const struct record *)a)->name, *right = ((const struct record *)b)->name;
    while (*left && *left == *right)
        left++, right++;
    return *left - *right;
}

static int by_place(const void *a, const void *b)
{
    const struct record *left = a, *right = b;
    int left_radius = left->x * left->x + left->y * left->y, right_radius = right->x * right->x + right->y * right->y;
    if (left_radius != right_radius)
        return left_radius < right_radius ? -1 : 1;
    return (left->x > right->x) - (left->x < right->x);
}

KEPT static void quicksort(struct record *first, int count, comparator *compare)
{
    if (count < 2)
        return;
    struct record pivot = first[count / 2];
    int low = 0, high = count - 1;
    while (low <= high) {
        while (compare(&first[low], &pivot) < 0)
            low++;
        while (compare(&first[high], &pivot) > 0)
            high--;
        if (low <= high) {
            struct record swapped = first[low];
            first[low++] = first[high];
            first[high--] = swapped;
        }
    }
    quicksort(first, high + 1, compare);
    quicksort(first + low, count - low, compare);
}

KEPT static void sort_by_name(const struct record *batch, struct record *sorted)
{
    memcpy(sorted, batch, BATCH * sizeof *batch);
    qsort(sorted, BATCH, sizeof *batch, by_name);
}

KEPT static void sort_by_place(const struct record *batch, struct record *sorted)
{
    memcpy(sorted, batch, BATCH * sizeof *batch);
    quicksort(sorted, BATCH, by_place);
}

KEPT static int look_up(const struct record *batch, const struct record *sorted)
{
    int found = 0;
    for (int i = 0; i < BATCH; i++)
        found += bsearch(&batch[i], sorted, BATCH, sizeof *batch, by_name) != NULL;
    return found;
}

int main(int argc, char **argv)
{
    double scale = scale_argument(argc, argv);
    int rounds = 1 + (int)(18 * scale), batches = scale < 1 ? 1 + (int)(scale * (BATCHES - 1)) : BATCHES, found = 0;
    static struct record sorted[BATCH], placed[BATCH];
    truth_phase("fill");
    for (int i = 0; i < 10 * rounds * batches; i++)
        fill_batch(record[i % batches]);
    truth_phase("place");
    for (int i = 0; i < 2 * rounds * batches; i++)
        sort_by_place(record[i % batches], placed);
    truth_phase("name");
    for (int i = 0; i < rounds * batches; i++)
        sort_by_name(record[i % batches], sorted);
    truth_phase("lookup");
    for (int i = 0; i < 3 * rounds * batches; i++)
        found += look_up(record[i % batches], sorted);
    truth_end();
    printf("sorts: first %s, nearest %d %d, %d found\n", sorted[0].name, placed[0].x, placed[0].y, found);
    return 0;
}

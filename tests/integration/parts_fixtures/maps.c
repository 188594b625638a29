/* Code that comes and goes all the time, while other threads read the map of it, one of them for as long as it lasts.
 * Arguments: how many pieces of code, threads that read. Prints how many maps there were, and are. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "modules.h"

#define PAGE ((size_t)4096)
#define ALIVE 16
#define MOST_THREADS 16

static struct code code;
static size_t wrong;
static int stop;

static bool is_sorted(const struct code_map *map)
{
    for (size_t i = 0; i < map->count; i++)
        if (map->ranges[i].module == NULL || map->ranges[i].start >= map->ranges[i].end ||
            (i > 0 && map->ranges[i - 1].end > map->ranges[i].start))
            return false;
    return map->count > ALIVE / 2;
}

static void *look(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        const struct code_map *map = modules_enter();
        uint64_t number = map->number;
        if (!is_sorted(map) || map->number != number)
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        modules_leave(map);
    }
    return unused;
}

/* Neighbours would be one mapping. */
static void make_code(uint8_t *space, size_t i)
{
    if (i >= ALIVE)
        mprotect(space + 2 * PAGE * (i - ALIVE), PAGE, PROT_NONE);
    mprotect(space + 2 * PAGE * i, PAGE, PROT_READ | PROT_EXEC);
    modules_scan();
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST_THREADS];
    size_t pieces = strtoul(argv[1], NULL, 10), count = strtoul(argv[argc - 1], NULL, 10), kept = 0;
    uint8_t *space = mmap(NULL, 2 * PAGE * pieces, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    modules_use(&code);
    modules_begin(true, false);
    for (size_t i = 0; i < ALIVE; i++)
        make_code(space, i);
    const struct code_map *held = modules_enter();
    size_t bytes = held->count * sizeof held->ranges[0];
    void *before = memcpy(malloc(bytes), held->ranges, bytes);
    for (size_t i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, look, NULL);
    for (size_t i = ALIVE; i < pieces; i++)
        make_code(space, i);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    wrong += memcmp(before, held->ranges, bytes) != 0;
    free(before);
    modules_leave(held);
    for (const struct code_map *map = code.maps; map != NULL; map = map->next)
        kept++;
    printf("wrong %zu published %zu kept %zu\n", wrong, (size_t)code.published, kept);
    return 0;
}

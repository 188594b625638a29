/* Drawn texts in the place of /proc/thread-self/maps, one scan after the other, and drawn objects behind their paths.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "drawn.h"
#include "elf_file.h"
#include "sys.h"

static int maps_fd = -1;
static const uint8_t *object;
static size_t object_size;

static int open_maps(const char *path, int flags, int mode)
{
    (void)path, (void)flags, (void)mode;
    lseek(maps_fd, 0, SEEK_SET);
    return dup(maps_fd);
}

static bool open_object_drawn(struct elf_file *elf, const struct object_file *file)
{
    return strchr(file->path, '!') == NULL && elf_open_memory(elf, object, object_size);
}

static bool open_image_drawn(struct elf_file *elf, const void *image, size_t size)
{
    (void)image, (void)size; /* addresses in the text are none of this process */
    return elf_open_memory(elf, object, object_size);
}

#define sys_open open_maps
#define object_file_open open_object_drawn
#define elf_open_memory open_image_drawn
#include "preload/modules/module_open.c"
#include "preload/modules/modules.c"
#include "preload/modules/own_maps.c"
#undef elf_open_memory

static void forget(void)
{
    modules_free(&own_code);
}

static void check(void)
{
    const struct code_map *map = modules_current();
    struct buffer out = {0};
    for (size_t i = 0; map != NULL && i < map->count; i++) {
        const struct code_range *range = &map->ranges[i];
        DEMAND(range->module == modules_get(range->module->id) && range->module->id < modules_count());
        const struct code_range *found = modules_find(map, range->start);
        DEMAND(found == NULL || (found->start <= range->start && range->start < found->end));
    }
    for (size_t i = 0; i < modules_count(); i++)
        modules_json(&out, i);
    buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct drawn drawn = {data, size};
    watched_allow(ALLOWED_BYTES(size));
    maps_fd = maps_fd < 0 ? memfd_create("maps", 0) : maps_fd;
    char *texts[3];
    for (int i = 0; i < 3; i++)
        texts[i] = draw_text(&drawn);
    object = drawn.at;
    object_size = drawn.left;
    for (int i = 0; i < 3; i++) {
        DEMAND(ftruncate(maps_fd, 0) == 0 && pwrite(maps_fd, texts[i], strlen(texts[i]), 0) >= 0);
        modules_scan();
        check();
        free(texts[i]);
    }
    forget();
    return 0;
}

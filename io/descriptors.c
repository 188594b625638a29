/* Thread safety: `of` and `opened` are atomic; `again` belongs to the holder of `lock`. Names are appended under
 * `lock`, which is only tried, so that a signal handler that interrupts its holder goes without; `count` is published
 * when a name is complete, and names are never changed. */
#define _GNU_SOURCE
#include "descriptors.h"

#include <string.h>
#include <sys/stat.h>

#include "counts.h"
#include "fixed_text.h"
#include "lookup.h"
#include "sys.h"
#include "vfork.h"

#define MOST_DESCRIPTORS 65536u
#define MOST_NAMES 4096u
#define HOMES (2 * MOST_NAMES)
#define TEXT_BYTES ((size_t)512 << 10)
#define NAME_BYTES 1024
#define MOST_TRIES 200
#define AGAIN 64

static uint32_t of[MOST_DESCRIPTORS]; /* 0: not known */
static struct name {
    uint32_t start, length;
} names[MOST_NAMES];
static uint16_t homes[HOMES]; /* 1 + index of a name */
static char *text;
static uint32_t text_used, count, written;
static uint32_t lock;

/* Files that are opened again and again by the same path, and are the same file as before: for these the kernel need
 * not write the name. (A symbolic link that takes the place of the renamed file keeps the old name.) Hashes of paths,
 * by descriptor, and the files. */
static uint64_t opened[MOST_DESCRIPTORS]; /* 0: not known */
static struct again {
    uint64_t path;
    dev_t device;
    ino_t inode; /* 0: opened once so far */
    uint32_t file;
} again[AGAIN];

static bool take_lock(void)
{
    for (int i = 0; i < MOST_TRIES; i++)
        if (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) == 0)
            return true;
    return false;
}

/* All pipes are one file, and so are all sockets: their numbers say nothing. */
static size_t shortened(char *name, size_t length)
{
    static const char *const kinds[] = {"pipe:", "socket:", "anon_inode:"};
    static const char deleted[] = " (deleted)";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
            return strlen(kinds[i]) - 1;
    size_t tail = sizeof deleted - 1;
    return length > tail && memcmp(name + length - tail, deleted, tail) == 0 ? length - tail : length;
}

/* Return the number of a name, under the lock. */
static uint32_t number_of(const char *name, size_t length)
{
    uint64_t hash = fnv_bytes(FNV_OFFSET, (const uint8_t *)name, length);
    uint32_t home = (uint32_t)(hash ^ hash >> 32) % HOMES;
    for (; homes[home] != 0; home = (home + 1) % HOMES) {
        const struct name *known = &names[homes[home] - 1];
        if (known->length == length && memcmp(text + known->start, name, length) == 0)
            return FIRST_NAME + homes[home] - 1u;
    }
    if (text == NULL)
        text = sys_alloc_untouched(TEXT_BYTES);
    if (text == NULL || count == MOST_NAMES || text_used + length > TEXT_BYTES)
        return FILE_OTHER;
    memcpy(text + text_used, name, length);
    names[count] = (struct name){text_used, (uint32_t)length};
    text_used += (uint32_t)length;
    homes[home] = (uint16_t)(count + 1);
    __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
    return FIRST_NAME + count - 1;
}

uint32_t descriptor_name(const char *name, size_t length)
{
    if (!take_lock())
        return FILE_OTHER;
    uint32_t number = number_of(name, length);
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    return number;
}

/* Return the number of a file's name as the kernel has it. */
static uint32_t ask(int fd)
{
    char path[40] = "/proc/self/fd/", name[NAME_BYTES];
    text_append_number(path, sizeof path, (uint64_t)fd, 1);
    long length = sys_readlink(path, name, sizeof name);
    if (length <= 0)
        return length == -ENOENT ? FILE_NONE : FILE_OTHER;
    return descriptor_name(name, shortened(name, (size_t)length));
}

/* Return the file's number if it was opened before by the path with this hash and has the name of that time, else 0.
 * `about`: of the descriptor, if the path is not new. */
static uint32_t known_by(uint64_t path, int fd, struct stat *about)
{
    struct again *entry = &again[path % AGAIN];
    uint32_t file = 0;
    if (path == 0 || !take_lock())
        return 0;
    if (entry->path != path)
        *entry = (struct again){.path = path};
    else if (SYS2(SYS_fstat, fd, about) != 0 || !S_ISREG(about->st_mode))
        about->st_ino = 0;
    else if (entry->inode == about->st_ino && entry->device == about->st_dev)
        file = entry->file;
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    return file;
}

static void keep(uint64_t path, const struct stat *about, uint32_t file)
{
    if (about->st_ino == 0 || file < FIRST_NAME || !take_lock())
        return;
    again[path % AGAIN] = (struct again){.path = path, .device = about->st_dev, .inode = about->st_ino, .file = file};
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static uint32_t look_up(int fd)
{
    struct stat about = {.st_ino = 0};
    uint64_t path = __atomic_load_n(&opened[fd], __ATOMIC_RELAXED);
    uint32_t file = known_by(path, fd, &about);
    if (file == 0) {
        file = ask(fd);
        keep(path, &about, file);
    }
    return file;
}

uint32_t descriptor_file(int fd)
{
    if (fd < 0)
        return FILE_NONE;
    if ((unsigned int)fd >= MOST_DESCRIPTORS)
        return FILE_OTHER;
    uint32_t file = __atomic_load_n(&of[fd], __ATOMIC_RELAXED);
    if (file != 0)
        return file;
    file = look_up(fd);
    __atomic_store_n(&of[fd], file, __ATOMIC_RELAXED);
    return file;
}

void descriptor_opened(int fd, const char *path)
{
    descriptor_forget(fd);
    if (fd < 0 || (unsigned int)fd >= MOST_DESCRIPTORS || vfork_is_child())
        return;
    uint64_t hash = path != NULL ? fnv_bytes(FNV_OFFSET, (const uint8_t *)path, strlen(path)) : 0;
    __atomic_store_n(&opened[fd], hash, __ATOMIC_RELAXED);
}

void descriptor_forget(int fd)
{
    if (fd >= 0)
        descriptor_forget_range((unsigned int)fd, (unsigned int)fd);
}

void descriptor_forget_range(unsigned int first, unsigned int last)
{
    bool is_known = false;
    last = last < MOST_DESCRIPTORS ? last : MOST_DESCRIPTORS - 1;
    for (unsigned int fd = first; fd <= last && !is_known; fd++)
        is_known = __atomic_load_n(&of[fd], __ATOMIC_RELAXED) != 0;
    if (!is_known || vfork_is_child())
        return;
    for (unsigned int fd = first; fd <= last; fd++)
        __atomic_store_n(&of[fd], 0, __ATOMIC_RELAXED);
}

void descriptor_copy(int fd, int copy)
{
    bool is_in_range =
        fd >= 0 && copy >= 0 && (unsigned int)fd < MOST_DESCRIPTORS && (unsigned int)copy < MOST_DESCRIPTORS;
    if (is_in_range && fd != copy && !vfork_is_child())
        __atomic_store_n(&of[copy], __atomic_load_n(&of[fd], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

void descriptor_put_names(struct buffer *out)
{
    uint32_t known = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
    if (written == known)
        return;
    struct buffer record = {0};
    buffer_varint(&record, FIRST_NAME + written);
    for (; written < known; written++) {
        buffer_varint(&record, names[written].length);
        buffer_bytes(&record, text + names[written].start, names[written].length);
    }
    buffer_record(out, RECORD_NAMES, &record);
    buffer_free(&record);
}

void descriptors_after_fork(void)
{
    lock = 0;
    written = 0;
}

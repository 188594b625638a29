/* The functions of libc's string.h that the libraries use. Sanitizers replace libc's by functions that use the thread's
 * thread-local memory: the interval thread (spawn.c) has none, and a signal handler may have interrupted its update.
 * The compiler itself generates calls of some of them.
 *
 * Async-signal-safe and thread-safe. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Since glibc 2.43 these are macros too, which preserve the argument's const in the result. */
#undef memchr
#undef strchr
#undef strrchr
#undef strstr

/* Keeps the compiler from turning a loop into a call of the very function that contains it. */
#define AS_WRITTEN() __asm__ volatile("")

/* An alias, not a second function: of two functions with the same body GCC makes one call the other, and it treats bcmp
 * as memcmp. GCC 9's memcmp called itself endlessly. */
#define SAME_AS(NAME) __attribute__((alias(NAME)))

typedef uint64_t __attribute__((may_alias, aligned(1))) word;

static void move_down(uint8_t *into, const uint8_t *from, size_t bytes)
{
    for (; bytes >= sizeof(word); bytes -= sizeof(word), into += sizeof(word), from += sizeof(word)) {
        *(word *)into = *(const word *)from;
        AS_WRITTEN();
    }
    for (; bytes > 0; bytes--) {
        *into++ = *from++;
        AS_WRITTEN();
    }
}

static void move_up(uint8_t *into, const uint8_t *from, size_t bytes)
{
    for (; bytes >= sizeof(word); bytes -= sizeof(word)) {
        *(word *)(into + bytes - sizeof(word)) = *(const word *)(from + bytes - sizeof(word));
        AS_WRITTEN();
    }
    for (; bytes > 0; bytes--) {
        into[bytes - 1] = from[bytes - 1];
        AS_WRITTEN();
    }
}

static void *move(void *into, const void *from, size_t bytes)
{
    if ((uintptr_t)into - (uintptr_t)from >= bytes)
        move_down(into, from, bytes);
    else
        move_up(into, from, bytes);
    return into;
}

void *memmove(void *into, const void *from, size_t bytes)
{
    return move(into, from, bytes);
}

SAME_AS("memmove") void *memcpy(void *restrict into, const void *restrict from, size_t bytes);

void *memset(void *memory, int value, size_t bytes)
{
    uint8_t *at = memory;
    for (; bytes >= sizeof(word); bytes -= sizeof(word), at += sizeof(word)) {
        *(word *)at = (uint8_t)value * 0x0101010101010101u;
        AS_WRITTEN();
    }
    for (; bytes > 0; bytes--) {
        *at++ = (uint8_t)value;
        AS_WRITTEN();
    }
    return memory;
}

static int compare_bytes(const uint8_t *one, const uint8_t *other, size_t bytes)
{
    for (; bytes > 0 && *one == *other; bytes--, one++, other++)
        AS_WRITTEN();
    return bytes > 0 ? *one - *other : 0;
}

int memcmp(const void *one, const void *other, size_t bytes)
{
    return compare_bytes(one, other, bytes);
}

/* Clang replaces a memcmp that only tests for equality by bcmp. */
SAME_AS("memcmp") int bcmp(const void *one, const void *other, size_t bytes);

void *memchr(const void *memory, int value, size_t bytes)
{
    const uint8_t *at = memory;
    for (; bytes > 0 && *at != (uint8_t)value; bytes--, at++)
        AS_WRITTEN();
    return bytes > 0 ? (void *)(uintptr_t)at : NULL;
}

/* Horspool's algorithm: the last byte of the current window gives the distance to the next candidate. */
void *memmem(const void *memory, size_t bytes, const void *part, size_t length)
{
    uint8_t skips[256];
    const uint8_t *at = memory, *wanted = part;
    if (length == 0)
        return (void *)(uintptr_t)at;
    const size_t most = length < UINT8_MAX ? length : UINT8_MAX;
    memset(skips, (int)most, sizeof skips);
    for (size_t back = most - 1; back > 0; back--)
        skips[wanted[length - 1 - back]] = (uint8_t)back;
    for (size_t skip; bytes >= length; bytes -= skip, at += skip) {
        const uint8_t last = at[length - 1];
        if (last == wanted[length - 1] && compare_bytes(at, wanted, length) == 0)
            return (void *)(uintptr_t)at;
        skip = skips[last];
    }
    return NULL;
}

static size_t length_of(const char *text, size_t most)
{
    size_t length = 0;
    for (; length < most && text[length] != '\0'; length++)
        AS_WRITTEN();
    return length;
}

size_t strnlen(const char *text, size_t most)
{
    return length_of(text, most);
}

size_t strlen(const char *text)
{
    return length_of(text, SIZE_MAX);
}

static int compare(const char *one, const char *other, size_t most)
{
    for (; most > 0 && *one == *other && *one != '\0'; most--, one++, other++)
        AS_WRITTEN();
    return most > 0 ? (unsigned char)*one - (unsigned char)*other : 0;
}

int strcmp(const char *one, const char *other)
{
    return compare(one, other, SIZE_MAX);
}

int strncmp(const char *one, const char *other, size_t most)
{
    return compare(one, other, most);
}

/* Copy the text like libc's functions; return its end. */
static char *copy_text(char *into, const char *from, size_t most)
{
    size_t length = length_of(from, most);
    move(into, from, length);
    into[length] = '\0';
    return into + length;
}

char *stpcpy(char *restrict into, const char *restrict from)
{
    return copy_text(into, from, SIZE_MAX);
}

char *strcpy(char *restrict into, const char *restrict from)
{
    copy_text(into, from, SIZE_MAX);
    return into;
}

char *strcat(char *restrict into, const char *restrict from)
{
    copy_text(into + length_of(into, SIZE_MAX), from, SIZE_MAX);
    return into;
}

char *strncat(char *restrict into, const char *restrict from, size_t most)
{
    copy_text(into + length_of(into, SIZE_MAX), from, most);
    return into;
}

char *strchr(const char *text, int value)
{
    for (; *text != (char)value; text++) {
        if (*text == '\0')
            return NULL;
        AS_WRITTEN();
    }
    return (char *)(uintptr_t)text;
}

char *strrchr(const char *text, int value)
{
    const char *last = NULL;
    for (;; text++) {
        if (*text == (char)value)
            last = text;
        if (*text == '\0')
            return (char *)(uintptr_t)last;
        AS_WRITTEN();
    }
}

char *strstr(const char *text, const char *part)
{
    return memmem(text, length_of(text, SIZE_MAX), part, length_of(part, SIZE_MAX));
}

size_t strcspn(const char *text, const char *stops)
{
    size_t length = 0;
    while (text[length] != '\0' && strchr(stops, text[length]) == NULL)
        length++;
    return length;
}

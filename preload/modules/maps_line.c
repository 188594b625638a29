#define _GNU_SOURCE
#include "modules.h"

#include <string.h>

static uint64_t parse_hex(const char **text)
{
    uint64_t value = 0;
    for (;; (*text)++) {
        char c = **text;
        if (c >= '0' && c <= '9')
            value = value * 16 + (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value * 16 + (uint64_t)(c - 'a' + 10);
        else
            return value;
    }
}

/* Parse " dev inode"; return the inode, 0 without a file. */
static uint64_t parse_inode(const char *line, const char *end)
{
    uint64_t inode = 0;
    const char *device = line < end ? line + 1 : end;
    const char *at = memchr(device, ' ', (size_t)(end - device));
    while (at != NULL && ++at < end && *at >= '0' && *at <= '9')
        inode = inode * 10 + (uint64_t)(*at - '0');
    return inode;
}

/* Return whether the mapping is JIT code: without a name, or in a memory file. */
static bool is_generated_code(const char *line, const char *end, const char *path)
{
    static const char memory[] = "/memfd:";
    if (path != NULL)
        return (size_t)(end - path) > sizeof memory && memcmp(path, memory, sizeof memory - 1) == 0;
    return memchr(line, '[', (size_t)(end - line)) == NULL;
}

/* Parse "start-end perms offset dev inode   path"; false if it is neither code from a file nor the vDSO nor JIT
 * code. */
static bool parse_mapping(const char *line, size_t length, struct mapping *mapping)
{
    const char *end = line + length;
    mapping->start = parse_hex(&line);
    if (*line++ != '-')
        return false;
    mapping->end = parse_hex(&line);
    if (end - line < 6 || line[3] != 'x')
        return false;
    line += 6;
    mapping->offset = parse_hex(&line);
    mapping->inode = parse_inode(line, end);
    const char *path = memchr(line, '/', (size_t)(end - line));
    if (path == NULL && end - line > 6 && memcmp(end - 6, "[vdso]", 6) == 0)
        path = end - 6;
    if (is_generated_code(line, end, path)) {
        path = JIT_PATH;
        end = path + sizeof JIT_PATH - 1;
        mapping->inode = mapping->offset = 0;
    }
    length = path != NULL ? (size_t)(end - path) : 0;
    if (length == 0 || length >= sizeof mapping->path)
        return false;
    memcpy(mapping->path, path, length);
    mapping->path[length] = '\0';
    return true;
}

size_t maps_line_read(const char *line, struct mapping *mapping, bool *is_code)
{
    const char *end = strchr(line, '\n');
    size_t length = end != NULL ? (size_t)(end - line) : strlen(line);
    *is_code = parse_mapping(line, length, mapping);
    return length + (end != NULL);
}

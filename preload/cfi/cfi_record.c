#define _GNU_SOURCE
#include "cfi.h"

#include <string.h>

uint64_t cfi_read_fixed(struct cfi_reader *reader, size_t bytes)
{
    uint64_t value = 0;
    if (reader->failed || reader->at > reader->end || bytes > reader->end - reader->at || bytes > reader->budget) {
        reader->failed = true;
        return 0;
    }
    reader->budget -= bytes;
    memcpy(&value, reader->data + reader->at, bytes);
    reader->at += bytes;
    return value;
}

uint64_t cfi_read_uleb(struct cfi_reader *reader)
{
    uint64_t value = 0;
    for (unsigned int shift = 0; !reader->failed; shift += 7) {
        uint64_t byte = cfi_read_byte(reader);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            break;
    }
    return value;
}

int64_t cfi_read_sleb(struct cfi_reader *reader)
{
    uint64_t value = 0;
    unsigned int shift = 0;
    uint64_t byte = 0x80;
    while ((byte & 0x80) != 0 && !reader->failed) {
        byte = cfi_read_byte(reader);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    }
    if (shift < 64 && (byte & 0x40) != 0)
        value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

uint64_t cfi_read_pointer(struct cfi_reader *reader, uint8_t encoding)
{
    uint64_t base = (encoding & 0x70) == 0x10 ? reader->address + reader->at : 0;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        return base + cfi_read_fixed(reader, 8);
    case 0x03:
        return base + cfi_read_fixed(reader, 4);
    case 0x0b:
        return base + (uint64_t)(int64_t)(int32_t)cfi_read_fixed(reader, 4);
    default:
        reader->failed = true;
        return 0;
    }
}

/* Enter a record: read its length, and make its end the reader's bound. False at the terminator or outside. */
static bool enter(struct cfi_reader *reader, uint64_t offset)
{
    reader->failed = offset >= reader->size;
    reader->at = offset;
    reader->end = reader->size;
    uint64_t length = cfi_read_fixed(reader, 4);
    if (length == 0xffffffffu)
        length = cfi_read_fixed(reader, 8);
    if (reader->failed || length == 0 || length > reader->size - reader->at)
        return false;
    reader->end = reader->at + length;
    return true;
}

static bool read_common(struct cfi_reader *reader, uint64_t offset, struct cfi_function *function)
{
    *function = (struct cfi_function){0};
    char augmentation[8] = "";
    if (!enter(reader, offset) || cfi_read_fixed(reader, 4) != 0)
        return false;
    uint64_t version = cfi_read_byte(reader);
    if (version != 1 && version != 3)
        return false;
    for (size_t i = 0;; i++) {
        char letter = (char)cfi_read_byte(reader);
        if (reader->failed || i == sizeof augmentation)
            return false;
        augmentation[i] = letter;
        if (letter == '\0')
            break;
    }
    function->code_align = cfi_read_uleb(reader);
    if (function->code_align == 0)
        return false;
    function->data_align = cfi_read_sleb(reader);
    if ((version == 1 ? cfi_read_byte(reader) : cfi_read_uleb(reader)) != DWARF_RA)
        return false;
    function->augmented = augmentation[0] == 'z';
    uint64_t length = function->augmented ? cfi_read_uleb(reader) : 0;
    uint64_t start = reader->at;
    for (const char *letter = augmentation; *letter != '\0'; letter++) {
        if (*letter == 'R')
            function->encoding = (uint8_t)cfi_read_byte(reader);
        else if (*letter == 'S')
            function->signal_frame = true;
        else if (*letter == 'L')
            cfi_read_byte(reader);
        else if (*letter == 'P')
            cfi_read_pointer(reader, (uint8_t)cfi_read_byte(reader) & 0x0f);
        else if (*letter != 'z' && *letter != 'B') /* B: the key that signs return addresses */
            return false;
    }
    if (length > reader->end - start)
        return false;
    function->common_at = function->augmented ? start + length : reader->at;
    function->common_end = reader->end;
    return !reader->failed;
}

/* Find the function's CIE. Functions of one compilation unit share theirs. */
static bool find_common(struct cfi_reader *reader, uint64_t offset, struct cfi_function *function)
{
    if (reader->common != offset || reader->initial.code_align == 0) {
        reader->common = offset;
        if (!read_common(reader, offset, &reader->initial)) {
            reader->initial.code_align = 0;
            return false;
        }
    }
    *function = reader->initial;
    return true;
}

bool cfi_read_function(struct cfi_reader *reader, uint64_t offset, struct cfi_function *function)
{
    if (!enter(reader, offset))
        return false;
    uint64_t pointer_at = reader->at;
    uint64_t back = cfi_read_fixed(reader, 4);
    uint64_t body = reader->at;
    uint64_t end = reader->end;
    if (reader->failed || back == 0 || back > pointer_at || !find_common(reader, pointer_at - back, function))
        return false;
    reader->at = body;
    reader->end = end;
    function->low = cfi_read_pointer(reader, function->encoding);
    function->high = function->low + cfi_read_pointer(reader, function->encoding & 0x0f);
    if (function->augmented) {
        uint64_t length = cfi_read_uleb(reader);
        if (reader->failed || length > reader->end - reader->at)
            return false;
        reader->at += length;
    }
    function->own_at = reader->at;
    function->own_end = end;
    return !reader->failed;
}

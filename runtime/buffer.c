#define _GNU_SOURCE
#include "buffer.h"

#include <string.h>

#include "sys.h"

#define FIRST_CAPACITY ((size_t)64 << 10)
#define MOST_BYTES (SIZE_MAX / 2) /* requested sizes may come from a file */

/* Replace the memory. A fork may copy the buffer at any moment, and its child free it, so the buffer never refers to
 * memory that it does not own. */
static void replace(struct buffer *buffer, uint8_t *data, size_t capacity)
{
    uint8_t *old = buffer->data;
    size_t old_capacity = buffer->capacity;
    __atomic_store_n(&buffer->capacity, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&buffer->data, data, __ATOMIC_RELEASE);
    __atomic_store_n(&buffer->capacity, capacity, __ATOMIC_RELEASE);
    sys_free(old, old_capacity);
}

bool buffer_reserve(struct buffer *buffer, size_t more)
{
    if (buffer->failed)
        return false;
    if (more <= buffer->capacity - buffer->length)
        return true;
    bool is_sane = more <= MOST_BYTES - buffer->length;
    size_t capacity = buffer->capacity > 0 ? buffer->capacity : FIRST_CAPACITY;
    while (is_sane && capacity - buffer->length < more)
        capacity *= 2;
    uint8_t *data = is_sane ? sys_alloc(capacity) : NULL;
    if (data == NULL) {
        buffer->failed = true;
        return false;
    }
    if (buffer->length > 0)
        memcpy(data, buffer->data, buffer->length);
    replace(buffer, data, capacity);
    return true;
}

void buffer_free(struct buffer *buffer)
{
    replace(buffer, NULL, 0);
    *buffer = (struct buffer){0};
}

void buffer_bytes(struct buffer *buffer, const void *bytes, size_t length)
{
    if (!buffer_reserve(buffer, length))
        return;
    memcpy(buffer->data + buffer->length, bytes, length);
    buffer->length += length;
}

void buffer_u8(struct buffer *buffer, uint8_t value)
{
    buffer_bytes(buffer, &value, sizeof value);
}

void buffer_u16(struct buffer *buffer, uint16_t value)
{
    buffer_bytes(buffer, &value, sizeof value);
}

void buffer_u32(struct buffer *buffer, uint32_t value)
{
    buffer_bytes(buffer, &value, sizeof value);
}

void buffer_u64(struct buffer *buffer, uint64_t value)
{
    buffer_bytes(buffer, &value, sizeof value);
}

void buffer_varint(struct buffer *buffer, uint64_t value)
{
    uint8_t bytes[10];
    size_t length = 0;
    while (value >= 0x80) {
        bytes[length++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[length++] = (uint8_t)value;
    buffer_bytes(buffer, bytes, length);
}

void buffer_zigzag(struct buffer *buffer, int64_t value)
{
    buffer_varint(buffer, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

void buffer_record(struct buffer *buffer, uint64_t type, const struct buffer *record)
{
    buffer->failed |= record->failed;
    if (record->length == 0)
        return;
    buffer_varint(buffer, type);
    buffer_varint(buffer, record->length);
    buffer_bytes(buffer, record->data, record->length);
}

void buffer_text(struct buffer *buffer, const char *text)
{
    buffer_bytes(buffer, text, strlen(text));
}

void buffer_decimal(struct buffer *buffer, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    buffer_bytes(buffer, digits + at, sizeof digits - at);
}

void buffer_hex(struct buffer *buffer, uint64_t value)
{
    char digits[16];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value > 0);
    buffer_bytes(buffer, digits + at, sizeof digits - at);
}

void buffer_json_string(struct buffer *buffer, const char *text)
{
    buffer_u8(buffer, '"');
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\') {
            buffer_u8(buffer, '\\');
            buffer_u8(buffer, *at);
        } else if (*at < 0x20) {
            char escape[] = "\\u0000";
            escape[4] = "0123456789abcdef"[*at >> 4];
            escape[5] = "0123456789abcdef"[*at & 15];
            buffer_text(buffer, escape);
        } else {
            buffer_u8(buffer, *at);
        }
    }
    buffer_u8(buffer, '"');
}

void buffer_json_key(struct buffer *buffer, const char *key)
{
    if (buffer->length > 0 && buffer->data[buffer->length - 1] != '{')
        buffer_u8(buffer, ',');
    buffer_json_string(buffer, key);
    buffer_u8(buffer, ':');
}

void buffer_json_text(struct buffer *buffer, const char *key, const char *text)
{
    buffer_json_key(buffer, key);
    if (text != NULL)
        buffer_json_string(buffer, text);
    else
        buffer_text(buffer, "null");
}

void buffer_json_u64(struct buffer *buffer, const char *key, uint64_t value)
{
    buffer_json_key(buffer, key);
    buffer_decimal(buffer, value);
}

void buffer_json_address(struct buffer *buffer, const char *key, uint64_t value)
{
    buffer_json_key(buffer, key);
    buffer_text(buffer, "\"0x");
    buffer_hex(buffer, value);
    buffer_u8(buffer, '"');
}

void buffer_nano(struct buffer *buffer, uint64_t value)
{
    char fraction[] = ".000000000";
    uint64_t rest = value % 1000000000u;
    for (int digit = 9; digit >= 1; digit--, rest /= 10)
        fraction[digit] = (char)('0' + rest % 10);
    buffer_decimal(buffer, value / 1000000000u);
    buffer_text(buffer, fraction);
}

void buffer_json_nano(struct buffer *buffer, const char *key, uint64_t value)
{
    buffer_json_key(buffer, key);
    buffer_nano(buffer, value);
}

void buffer_json_bool(struct buffer *buffer, const char *key, bool value)
{
    buffer_json_key(buffer, key);
    buffer_text(buffer, value ? "true" : "false");
}

/* A growing byte buffer in memory of its own (mmap), so that it works in the interval thread and in signal context.
 *
 * Async-signal-safe; not thread-safe: each buffer has one user at a time. A failed growth sets `failed` and turns
 * every later append into a no-op, so that callers check once, at the end.
 */
#ifndef RUNTIME_BUFFER_H
#define RUNTIME_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
    uint8_t *data;
    size_t length;
    size_t capacity;
    bool failed;
};

bool buffer_reserve(struct buffer *buffer, size_t more);
void buffer_free(struct buffer *buffer);
void buffer_bytes(struct buffer *buffer, const void *bytes, size_t length);
void buffer_u8(struct buffer *buffer, uint8_t value);
void buffer_u16(struct buffer *buffer, uint16_t value);
void buffer_u32(struct buffer *buffer, uint32_t value);
void buffer_u64(struct buffer *buffer, uint64_t value);
void buffer_varint(struct buffer *buffer, uint64_t value);
void buffer_zigzag(struct buffer *buffer, int64_t value);
/* Append a record of an image, unless it is empty: its type, its length, and what it contains. */
void buffer_record(struct buffer *buffer, uint64_t type, const struct buffer *record);
void buffer_text(struct buffer *buffer, const char *text);
void buffer_decimal(struct buffer *buffer, uint64_t value);
/* Append a decimal number given in billionths, as in 0.010000000 for 10 000 000. */
void buffer_nano(struct buffer *buffer, uint64_t value);
void buffer_hex(struct buffer *buffer, uint64_t value);

/* JSON pieces: a quoted string, and `,"key":` (without the comma after an opening brace). */
void buffer_json_string(struct buffer *buffer, const char *text);
void buffer_json_key(struct buffer *buffer, const char *key);
void buffer_json_text(struct buffer *buffer, const char *key, const char *text);
void buffer_json_bool(struct buffer *buffer, const char *key, bool value);
void buffer_json_u64(struct buffer *buffer, const char *key, uint64_t value);
/* An address: "0x...". */
void buffer_json_address(struct buffer *buffer, const char *key, uint64_t value);
void buffer_json_nano(struct buffer *buffer, const char *key, uint64_t value);

/* Return the CRC-32 of zip and zlib. Pure. */
static inline uint32_t crc32(const uint8_t *bytes, size_t length)
{
    static const uint32_t of_nibble[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = ~0u;
    for (size_t i = 0; i < length; i++) {
        crc = of_nibble[(crc ^ bytes[i]) & 15] ^ crc >> 4;
        crc = of_nibble[(crc ^ (bytes[i] >> 4)) & 15] ^ crc >> 4;
    }
    return ~crc;
}

#endif

/* The checksum of zip and zlib. Pure. */
#ifndef RUNTIME_CRC32_H
#define RUNTIME_CRC32_H

#include <stddef.h>
#include <stdint.h>

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

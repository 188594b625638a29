#include "loaded.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

static bool write_hex(const uint8_t *id, size_t size, char *text, size_t room)
{
    if (2 * size + 1 > room)
        return false;
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = "0123456789abcdef"[id[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
    }
    text[2 * size] = '\0';
    return true;
}

/* Sizes are padded to 4. */
bool build_id_text(const void *notes, size_t size, char *text, size_t room)
{
    const uint8_t *bytes = notes;
    size_t at = 0;
    text[0] = '\0';
    while (size - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, bytes + at, sizeof note);
        size_t name_size = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t body_size = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        at += sizeof note;
        if (name_size > size - at || body_size > size - at - name_size)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(bytes + at, "GNU", 4) == 0)
            return write_hex(bytes + at + name_size, note.n_descsz, text, room);
        at += name_size + body_size;
    }
    return false;
}

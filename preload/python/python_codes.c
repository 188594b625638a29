/* Thread safety: python_code_slot runs in the thread itself, in its tick handler; the rest in the interval thread,
 * under the collector's lock. `forget` is atomic. */
#define _GNU_SOURCE
#include "python.h"

#include <string.h>

#include "modules.h"
#include "peek.h"

#define CODE_BYTES 168 /* enough for all fields read; the object is larger */
#define MOST_NAME 240
#define MOST_FILE 480
#define MOST_LINES 65536 /* bytes of a line table */
#define PROBES 8
#define HEAD_WORDS 8
#define NAME_WORDS ((MOST_NAME + 7) / 8)
#define FILE_WORDS ((MOST_FILE + 7) / 8)

struct code_words {
    uint64_t type, name, file, lines;
    uint32_t first;
};

/* The required characters of a string: the beginning of a name, the end of a path. */
struct text {
    uint64_t from; /* the object */
    uint32_t span; /* bytes from there to the last character */
    uint16_t bytes;
    uint8_t width; /* bytes of a character */
    uint8_t is_ascii;
    uint32_t at; /* offset of the first required character in the object */
};

static uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t mixed_bytes(uint64_t hash, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, count - i < 8 ? count - i : 8);
        hash = mixed(hash, word);
    }
    return mixed(hash, count);
}

static struct code_words words_of(const struct python_layout *layout, const uint8_t *code)
{
    struct code_words words;
    memcpy(&words.type, code + layout->object_type, 8);
    memcpy(&words.name, code + layout->code_name, 8);
    memcpy(&words.file, code + layout->code_file, 8);
    memcpy(&words.lines, code + layout->code_lines, 8);
    memcpy(&words.first, code + layout->code_first, 4);
    return words;
}

static uint64_t print_of(const struct code_words *words)
{
    uint64_t hash = mixed(mixed(words->type, words->name), words->file);
    return mixed(mixed(hash, words->lines), words->first);
}

/* Read a string's state, whose bit positions depend on the version: kind (1, 2 or 4), compact, ASCII. */
static bool read_state(uint32_t state, uint8_t *width, bool *is_ascii)
{
    static const unsigned int places[] = {2, 8, 16};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint32_t bits = state >> places[i];
        uint32_t kind = bits & 7;
        if ((kind == 1 || kind == 2 || kind == 4) && (bits & 8) != 0) {
            *width = (uint8_t)kind;
            *is_ascii = (bits & 16) != 0;
            return !*is_ascii || kind == 1;
        }
    }
    return false;
}

static bool find_text(const struct python *python, uint64_t address, size_t most, bool at_end, struct text *text)
{
    uint8_t head[64];
    const struct python_layout *layout = &python->layout;
    uint64_t type;
    uint64_t length;
    uint32_t state;
    bool is_ascii;
    if ((address & 7) != 0 || address < 4096 || !peek(head, address, layout->object_size + 24))
        return false;
    memcpy(&type, head + layout->object_type, 8);
    memcpy(&length, head + layout->object_size, 8);
    memcpy(&state, head + layout->object_size + 16, 4);
    if (type != python->text_type || length > 65536 || !read_state(state, &text->width, &is_ascii))
        return false;
    uint32_t begin = is_ascii ? layout->text_ascii : layout->text_compact;
    uint64_t bytes = length * text->width;
    uint64_t bytes_taken = bytes < most ? bytes : most - most % text->width;
    text->from = address;
    text->is_ascii = is_ascii;
    text->bytes = (uint16_t)bytes_taken;
    text->at = begin + (uint32_t)(at_end ? bytes - bytes_taken : 0);
    text->span = text->at + (uint32_t)bytes_taken;
    return true;
}

static size_t home_of(uint64_t code)
{
    return (code >> 4 ^ code >> 13) & (PYTHON_CODES - 1);
}

_Static_assert(CODE_BYTES + MOST_NAME + MOST_FILE <= PYTHON_CHECKED_BYTES, "room for the largest");

/* Return whether the bytes of the code object and both strings, with the sizes in `entry`, match the report. */
static bool is_recorded_name(const struct python *python, const struct python_code *entry, const uint8_t *bytes)
{
    const struct code_words words = words_of(&python->layout, bytes);
    const uint8_t *name = bytes + CODE_BYTES;
    uint64_t print = mixed_bytes(print_of(&words), name, entry->name_span);
    return mixed_bytes(print, name + entry->name_span, entry->file_span) == entry->print;
}

static size_t bytes_of(const struct python_code *entry)
{
    return CODE_BYTES + entry->name_span + entry->file_span;
}

/* Add the pieces of memory to read with one call. */
static void add_pieces(struct iovec *pieces, const struct python_code *entry)
{
    pieces[0] = (struct iovec){(void *)entry->address, CODE_BYTES};
    pieces[1] = (struct iovec){(void *)entry->name, entry->name_span};
    pieces[2] = (struct iovec){(void *)entry->file, entry->file_span};
}

static bool is_unchanged(const struct python *python, struct python_thread *mine, const struct python_code *entry)
{
    struct iovec there[3];
    const struct iovec here = {mine->checked, bytes_of(entry)};
    add_pieces(there, entry);
    return peek_pieces(&here, 1, there, 3) == bytes_of(entry) && is_recorded_name(python, entry, mine->checked);
}

static struct python_code *find_entry(struct python_thread *mine, uint64_t code)
{
    for (size_t i = 0; i < PROBES; i++) {
        struct python_code *entry = &mine->codes[(home_of(code) + i) & (PYTHON_CODES - 1)];
        if (entry->address == code)
            return entry;
    }
    return NULL;
}

bool python_code_is_checked(struct python_thread *mine, uint64_t code)
{
    const struct python_code *entry = code != 0 ? find_entry(mine, code) : NULL;
    return entry != NULL && entry->verified_at == mine->sample;
}

void python_codes_check(const struct python *python, struct python_thread *mine, const uint64_t *codes, size_t count)
{
    struct python_code *entries[PYTHON_CHECKED];
    struct iovec there[3 * PYTHON_CHECKED];
    size_t unverified = 0;
    size_t bytes = 0;
    for (size_t i = 0; i < count && unverified < PYTHON_CHECKED; i++) {
        entries[unverified] = codes[i] != 0 ? find_entry(mine, codes[i]) : NULL;
        if (entries[unverified] == NULL || entries[unverified]->verified_at == mine->sample)
            continue;
        add_pieces(&there[3 * unverified], entries[unverified]);
        bytes += bytes_of(entries[unverified]);
        unverified++;
    }
    if (unverified < 2)
        return;
    const struct iovec here = {mine->checked, bytes};
    size_t got = peek_pieces(&here, 1, there, 3 * unverified);
    const uint8_t *at = mine->checked;
    for (size_t i = 0; i < unverified && bytes_of(entries[i]) <= got; i++) {
        if (is_recorded_name(python, entries[i], at))
            entries[i]->verified_at = mine->sample;
        at += bytes_of(entries[i]);
        got -= bytes_of(entries[i]);
    }
}

/* Read a code object's record and report it. */
static bool record_code(const struct python *python, struct python_thread *mine, int slot, uint64_t address)
{
    uint8_t code[CODE_BYTES];
    uint64_t record[HEAD_WORDS + NAME_WORDS + FILE_WORDS] = {0};
    struct text name;
    struct text file;
    struct python_code *entry = &mine->codes[slot];
    entry->address = 0;
    if ((address & 7) != 0 || address < 4096 || !peek(code, address, sizeof code))
        return false;
    const struct code_words words = words_of(&python->layout, code);
    if (words.type != python->code_type || !find_text(python, words.name, MOST_NAME, false, &name) ||
        !find_text(python, words.file, MOST_FILE, true, &file))
        return false;
    uint8_t *name_at = (uint8_t *)&record[HEAD_WORDS];
    uint8_t *file_at = name_at + (name.bytes + 7) / 8 * 8;
    if (!peek(name_at, name.from + name.at, name.bytes) || !peek(file_at, file.from + file.at, file.bytes))
        return false;
    record[0] = (uint64_t)words.first << 32 | (uint32_t)slot;
    record[1] = address;
    record[2] = words.name;
    record[3] = words.file;
    record[4] = words.lines;
    record[5] = (uint64_t)name.bytes | (uint64_t)name.width << 16 | (uint64_t)name.is_ascii << 24;
    record[6] = (uint64_t)file.bytes | (uint64_t)file.width << 16 | (uint64_t)file.is_ascii << 24;
    size_t count = (size_t)((uint64_t *)file_at - record) + (file.bytes + 7) / 8;
    if (!python_record(mine, record, count))
        return false;
    entry->name = name.from + name.at;
    entry->file = file.from + file.at;
    entry->name_span = name.bytes;
    entry->file_span = file.bytes;
    entry->print = mixed_bytes(mixed_bytes(print_of(&words), name_at, name.bytes), file_at, file.bytes);
    entry->address = address;
    return true;
}

int python_code_slot(const struct python *python, struct python_thread *mine, uint64_t code)
{
    size_t home = home_of(code);
    int place = -1; /* slot of a new one: the least recently used, but none of this sample, whose frames refer to it */
    uint32_t oldest = 0;
    for (size_t i = 0; i < PROBES; i++) {
        int slot = (int)((home + i) & (PYTHON_CODES - 1));
        struct python_code *entry = &mine->codes[slot];
        uint32_t age = entry->address == 0 ? UINT32_MAX : mine->sample - entry->verified_at;
        if (entry->address == code && code != 0) {
            if (age == 0)
                return slot;
            if (is_unchanged(python, mine, entry)) {
                entry->verified_at = mine->sample;
                return slot;
            }
            place = slot;
            break;
        }
        if (age > oldest) {
            oldest = age;
            place = slot;
        }
    }
    if (place < 0 || !record_code(python, mine, place, code))
        return -1;
    mine->codes[place].verified_at = mine->sample;
    return place;
}

/* Append a character as UTF-8: at most three bytes for one byte of Latin-1 or two of UCS-2, and four for four. */
static size_t put_character(uint8_t *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    out[0] = (uint8_t)(0xff00u >> (more + 1) | c >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        out[i] = (uint8_t)(0x80 | (c >> 6 * (more - i) & 0x3f));
    return more + 1;
}

static void to_utf8(char *out, const uint8_t *bytes, uint64_t shape)
{
    size_t count = shape & 0xffff;
    size_t width = shape >> 16 & 0xff;
    size_t length = 0;
    for (size_t i = 0; i + width <= count; i += width) {
        uint32_t c = 0;
        memcpy(&c, bytes + i, width);
        length += put_character((uint8_t *)out + length, c == 0 || c > 0x10ffff ? '?' : c);
    }
    out[length] = '\0';
}

/* Read the line table, if the code object still exists. */
static size_t read_lines(const struct python *python, const uint64_t *record, uint8_t *lines)
{
    const struct python_layout *layout = &python->layout;
    uint8_t code[CODE_BYTES];
    uint8_t head[64];
    uint64_t type;
    uint64_t size;
    for (int time = 0; time < 2; time++) { /* check before and after the table is read */
        if (!peek(code, record[1], sizeof code) || !peek(head, record[4], layout->object_size + 8))
            return 0;
        const struct code_words words = words_of(layout, code);
        memcpy(&type, head + layout->object_type, 8);
        memcpy(&size, head + layout->object_size, 8);
        if (words.type != python->code_type || words.name != record[2] || words.file != record[3] ||
            words.lines != record[4] || words.first != record[0] >> 32 || type != python->bytes_type ||
            size > MOST_LINES)
            return 0;
        if (time == 0 && !peek(lines, record[4] + layout->object_size + 16, size))
            return 0;
    }
    return size;
}

void python_add_code(struct python_thread *mine, const uint64_t *words, size_t count)
{
    static uint8_t lines[MOST_LINES];
    char name[2 * MOST_NAME + 1];
    char file[2 * MOST_FILE + 1];
    const struct python *python = python_current();
    size_t slot = words[0] & 0xffffffff;
    if (python == NULL || count < HEAD_WORDS || slot >= PYTHON_CODES)
        return;
    size_t name_bytes = words[5] & 0xffff;
    size_t file_bytes = words[6] & 0xffff;
    size_t width[2] = {words[5] >> 16 & 0xff, words[6] >> 16 & 0xff};
    mine->functions[slot] = 0;
    if (name_bytes > MOST_NAME || file_bytes > MOST_FILE || width[0] - 1 > 3 || width[1] - 1 > 3 ||
        count < HEAD_WORDS + (name_bytes + 7) / 8 + (file_bytes + 7) / 8)
        return;
    to_utf8(name, (const uint8_t *)&words[HEAD_WORDS], words[5]);
    to_utf8(file, (const uint8_t *)&words[HEAD_WORDS + (name_bytes + 7) / 8], words[6]);
    struct module_function function = {.name = name, .line = (uint32_t)(words[0] >> 32), .lines = lines};
    struct module *module = modules_find_function(file, &function);
    if (module == NULL) {
        function.line_bytes = read_lines(python, words, lines);
        module = modules_add_function(file, &function, python->layout.version);
    }
    mine->functions[slot] = module != NULL ? module->id : 0;
}

void python_forget(struct python_thread *mine)
{
    if (python_current() == NULL)
        return;
    memset(mine->functions, 0, sizeof mine->functions);
    __atomic_store_n(&mine->forget, true, __ATOMIC_RELAXED);
}

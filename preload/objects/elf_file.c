#define _GNU_SOURCE
#include "elf_file.h"

#include <string.h>
#include <sys/stat.h>

#include "loaded.h"
#include "machine.h"
#include "peek.h"
#include "sys.h"

bool elf_read(const struct elf_file *elf, void *into, size_t bytes, uint64_t offset)
{
    if (offset > elf->size || bytes > elf->size - offset)
        return false;
    if (elf->memory == NULL)
        return sys_pread_all(elf->fd, into, bytes, offset);
    memcpy(into, elf->memory + offset, bytes);
    return true;
}

void *elf_load(const struct elf_file *elf, uint64_t offset, uint64_t bytes)
{
    if (bytes == 0 || bytes > ELF_MOST_BYTES || offset > elf->size || bytes > elf->size - offset)
        return NULL;
    uint8_t *data = sys_alloc(bytes + 1);
    if (data != NULL && !elf_read(elf, data, bytes, offset)) {
        sys_free(data, bytes + 1);
        data = NULL;
    }
    return data;
}

static bool is_readable(uint64_t address)
{
    uint8_t byte;
    return peek(&byte, address, 1);
}

const void *elf_in_place(const struct elf_file *elf, uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; elf->is_in_place && i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        uint64_t skip = address - segment->p_vaddr;
        bool is_constant = segment->p_type == PT_LOAD && (segment->p_flags & (PF_R | PF_W)) == PF_R;
        if (is_constant && skip < segment->p_filesz && bytes > 0 && bytes <= segment->p_filesz - skip &&
            is_readable(elf->base + address) && is_readable(elf->base + address + bytes - 1))
            return (const void *)(elf->base + address);
    }
    return NULL;
}

static void load_sections(struct elf_file *elf)
{
    const Elf64_Ehdr *header = &elf->header;
    size_t count = header->e_shnum;
    if (count == 0 || count > ELF_MOST_SECTIONS || header->e_shentsize != sizeof(Elf64_Shdr))
        return;
    elf->sections = elf_load(elf, header->e_shoff, count * sizeof(Elf64_Shdr));
    if (elf->sections == NULL)
        return;
    elf->section_count = count;
    if (header->e_shstrndx >= count)
        return;
    const Elf64_Shdr *names = &elf->sections[header->e_shstrndx];
    elf->section_names = elf_load(elf, names->sh_offset, names->sh_size);
    if (elf->section_names != NULL)
        elf->section_names_size = names->sh_size;
}

static bool read_headers(struct elf_file *elf)
{
    Elf64_Ehdr *header = &elf->header;
    if (!elf_read(elf, header, sizeof *header, 0) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != MACHINE_ELF || (header->e_phnum > 0 && header->e_phentsize != sizeof(Elf64_Phdr)) ||
        header->e_phnum > ELF_MOST_SEGMENTS)
        return false;
    elf->segment_count = header->e_phnum;
    if (!elf_read(elf, elf->segments, elf->segment_count * sizeof(Elf64_Phdr), header->e_phoff))
        return false;
    load_sections(elf);
    return true;
}

/* Return whether the path is a regular file. A driver's device may be mapped executable too, and may do anything when
 * opened. */
static bool is_file(const char *path)
{
    struct stat status;
    return SYS4(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0 && S_ISREG(status.st_mode);
}

bool elf_open(struct elf_file *elf, const char *path)
{
    *elf = (struct elf_file){.fd = is_file(path) ? sys_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0) : -1};
    if (elf->fd < 0)
        return false;
    long size = SYS3(SYS_lseek, elf->fd, 0, 2 /* SEEK_END */);
    elf->size = size > 0 ? (uint64_t)size : 0;
    if (read_headers(elf))
        return true;
    elf_close(elf);
    return false;
}

bool elf_open_memory(struct elf_file *elf, const void *image, size_t size)
{
    *elf = (struct elf_file){.fd = -1, .memory = image, .size = size};
    return read_headers(elf);
}

void elf_close(struct elf_file *elf)
{
    if (elf->sections != NULL)
        sys_free(elf->sections, elf->section_count * sizeof(Elf64_Shdr) + 1);
    if (elf->section_names != NULL)
        sys_free(elf->section_names, elf->section_names_size + 1);
    if (elf->fd >= 0)
        sys_close(elf->fd);
}

const char *elf_section_name(const struct elf_file *elf, const Elf64_Shdr *section)
{
    return section->sh_name < elf->section_names_size ? elf->section_names + section->sh_name : "";
}

const Elf64_Shdr *elf_section(const struct elf_file *elf, const char *name)
{
    for (size_t i = 0; i < elf->section_count; i++)
        if (strcmp(elf_section_name(elf, &elf->sections[i]), name) == 0)
            return &elf->sections[i];
    return NULL;
}

const Elf64_Phdr *elf_segment(const struct elf_file *elf, uint32_t type)
{
    for (size_t i = 0; i < elf->segment_count; i++)
        if (elf->segments[i].p_type == type)
            return &elf->segments[i];
    return NULL;
}

void elf_build_id(const struct elf_file *elf, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < elf->segment_count && text[0] == '\0'; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        uint8_t notes[4096];
        if (segment->p_type == PT_NOTE && segment->p_filesz <= sizeof notes &&
            elf_read(elf, notes, segment->p_filesz, segment->p_offset))
            build_id_text(notes, segment->p_filesz, text, size);
    }
}

/* Names to look for. */
struct names {
    const char *const *texts;
    size_t count, longest;
    size_t lengths[ELF_MOST_NAMES];
    uint64_t lasts[4]; /* a bit for each last character */
};

static struct names names_of(const char *const *texts, size_t count)
{
    struct names names = {.texts = texts, .count = count < ELF_MOST_NAMES ? count : ELF_MOST_NAMES};
    for (size_t i = 0; i < names.count; i++) {
        names.lengths[i] = strlen(texts[i]);
        names.longest = names.lengths[i] > names.longest ? names.lengths[i] : names.longest;
        uint8_t last = (uint8_t)texts[i][names.lengths[i] - 1];
        names.lasts[last / 64] |= (uint64_t)1 << last % 64;
    }
    return names;
}

/* Return the string, or the end of a longer one, that ends before strings[end] and is one of the names; or NULL. */
static const char *name_before(const char *strings, size_t end, const struct names *names)
{
    uint8_t last = end > 0 ? (uint8_t)strings[end - 1] : 0;
    if ((names->lasts[last / 64] >> last % 64 & 1) == 0)
        return NULL;
    for (size_t i = 0; i < names->count; i++) {
        const char *at = strings + end - names->lengths[i];
        if (end >= names->lengths[i] && *at == *names->texts[i] && memcmp(at, names->texts[i], names->lengths[i]) == 0)
            return at;
    }
    return NULL;
}

/* Return the bytes of a word that are zero, as 0x80 each. */
static uint64_t zero_bytes(uint64_t word)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    return ~(((word & low) + low) | word | low);
}

/* Return the first occurrence of any of the names, or NULL. A C++ program has megabytes of strings: only the ends of
 * them, found eight bytes at a time, are compared. Seven bytes that are not zero follow the strings. */
static const char *find_any(const char *strings, size_t size, const struct names *names)
{
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, strings + at, sizeof word);
        for (uint64_t ends = zero_bytes(word); ends != 0; ends &= ends - 1) {
            const char *match = name_before(strings, at + (size_t)__builtin_ctzll(ends) / 8, names);
            if (match != NULL)
                return match;
        }
    }
    return NULL;
}

/* Return the position of the first name found in a string section, or UINT64_MAX. Most objects contain none of the
 * names: then the symbols need not be read, nor the strings kept. Pieces overlap by the length of a name. */
static uint64_t place_of_any(const struct elf_file *elf, const Elf64_Shdr *strings, const char *const *wanted,
                             size_t count)
{
    enum { MOST = 16384 };
    char piece[MOST + sizeof(uint64_t)];
    const struct names names = names_of(wanted, count);
    for (uint64_t at = 0; at < strings->sh_size && names.longest < MOST; at += MOST - names.longest) {
        uint64_t left = strings->sh_size - at;
        size_t size = left < MOST ? (size_t)left : MOST;
        if (!elf_read(elf, piece, size, strings->sh_offset + at))
            break;
        memset(piece + size, 0xff, sizeof(uint64_t));
        const char *match = find_any(piece, size, &names);
        if (match != NULL)
            return at + (uint64_t)(match - piece);
    }
    return UINT64_MAX;
}

#define PIECE_SYMBOLS 512
#define MOST_IMPORT 16
#define MANY_STRINGS 65536

/* Read symbols from `first` on, a piece of the table. Returns their number; 0: there are none left. */
static size_t read_symbols(const struct elf_file *elf, const Elf64_Shdr *table, uint64_t first,
                           Elf64_Sym piece[PIECE_SYMBOLS])
{
    uint64_t count = table->sh_size / sizeof *piece;
    uint64_t left = first < count ? count - first : 0;
    size_t here = left < PIECE_SYMBOLS ? (size_t)left : PIECE_SYMBOLS;
    return elf_read(elf, piece, here * sizeof *piece, table->sh_offset + first * sizeof *piece) ? here : 0;
}

/* Return the value of the symbol in one of the tables, or 0. A table may be large, so it is read in pieces. */
static uint64_t value_in(const struct elf_file *elf, const char *table_name, const char *strings_name, const char *name)
{
    Elf64_Sym piece[PIECE_SYMBOLS];
    const Elf64_Shdr *table = elf_section(elf, table_name);
    const Elf64_Shdr *strings = elf_section(elf, strings_name);
    uint64_t place = table != NULL && strings != NULL ? place_of_any(elf, strings, &name, 1) : UINT64_MAX;
    size_t count;
    for (uint64_t first = 0; place != UINT64_MAX && (count = read_symbols(elf, table, first, piece)) > 0;
         first += count)
        for (size_t i = 0; i < count; i++)
            if (piece[i].st_name == place && piece[i].st_shndx != SHN_UNDEF)
                return piece[i].st_value;
    return 0;
}

uint64_t elf_value(const struct elf_file *elf, const char *name)
{
    uint64_t value = value_in(elf, ".dynsym", ".dynstr", name);
    return value != 0 ? value : value_in(elf, ".symtab", ".strtab", name);
}

/* Look up dynamic symbols by name: those that the object defines, into `exports` unless that is NULL. Return whether
 * any is undefined. */
static bool look_up(const struct elf_file *elf, const char *const *wanted, size_t count, Elf64_Sym *exports)
{
    const Elf64_Shdr *table = elf_section(elf, ".dynsym");
    const Elf64_Shdr *strings = elf_section(elf, ".dynstr");
    if (table == NULL || strings == NULL || place_of_any(elf, strings, wanted, count) == UINT64_MAX)
        return false;
    bool is_imported = false;
    char *names = elf_load(elf, strings->sh_offset, strings->sh_size);
    Elf64_Sym *symbols = names != NULL ? elf_load(elf, table->sh_offset, table->sh_size) : NULL;
    for (size_t i = 0; symbols != NULL && i < table->sh_size / sizeof *symbols; i++)
        for (size_t which = 0; symbols[i].st_name < strings->sh_size && which < count; which++) {
            if (strcmp(names + symbols[i].st_name, wanted[which]) != 0)
                continue;
            if (symbols[i].st_shndx == SHN_UNDEF)
                is_imported = true;
            else if (exports != NULL)
                exports[which] = symbols[i];
        }
    if (symbols != NULL)
        sys_free(symbols, table->sh_size + 1);
    if (names != NULL)
        sys_free(names, strings->sh_size + 1);
    return is_imported;
}

void elf_exports(const struct elf_file *elf, const char *const *names, size_t count, Elf64_Sym *symbols)
{
    look_up(elf, names, count, symbols);
}

/* Return whether the string at a position is one of the names. `there`: where the strings are in memory, or NULL. */
static bool is_named(const struct elf_file *elf, const Elf64_Shdr *strings, const char *there, uint64_t at,
                     const char *const *wanted, size_t count)
{
    char name[MOST_IMPORT] = "";
    uint64_t left = at < strings->sh_size ? strings->sh_size - at : 0;
    size_t bytes = left < sizeof name - 1 ? (size_t)left : sizeof name - 1;
    if (there != NULL)
        memcpy(name, there + at, bytes);
    else
        elf_read(elf, name, bytes, strings->sh_offset + at);
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, wanted[i]) == 0)
            return true;
    return false;
}

/* Return whether any of the names, of less than MOST_IMPORT characters, is an undefined dynamic symbol. Programs with
 * many strings define most of their symbols: only the names of the others are read. */
static bool imports_any(const struct elf_file *elf, const char *const *wanted, size_t count)
{
    const Elf64_Shdr *table = elf_section(elf, ".dynsym");
    const Elf64_Shdr *strings = elf_section(elf, ".dynstr");
    if (table == NULL || strings == NULL || strings->sh_size < MANY_STRINGS)
        return look_up(elf, wanted, count, NULL);
    const char *there = elf_in_place(elf, strings->sh_addr, strings->sh_size);
    Elf64_Sym piece[PIECE_SYMBOLS];
    size_t read;
    for (uint64_t first = 0; (read = read_symbols(elf, table, first, piece)) > 0; first += read)
        for (size_t i = 0; i < read; i++)
            if (piece[i].st_shndx == SHN_UNDEF && is_named(elf, strings, there, piece[i].st_name, wanted, count))
                return true;
    return false;
}

bool elf_imports(const struct elf_file *elf, const char *name)
{
    return imports_any(elf, &name, 1);
}

bool elf_calls_mcount(const struct elf_file *elf)
{
    static const char *const hooks[] = {"mcount", "_mcount", "__fentry__"};
    return imports_any(elf, hooks, sizeof hooks / sizeof *hooks);
}

#define _GNU_SOURCE
#include "snapshot.h"

#include <string.h>

#include "buffer.h"
#include "elf_file.h"
#include "log.h"
#include "output.h"
#include "sys.h"

#define MOST_DEBUG_BYTES ((uint64_t)32 << 20)
#define MOST_BYTES ((uint64_t)1 << 30)

static bool is_symbols(const struct elf_file *elf, const Elf64_Shdr *section)
{
    static const char *const names[] = {".symtab", ".strtab", ".dynsym", ".dynstr", ".shstrtab", ".note.gnu.build-id",
                                        ".comment"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(elf_section_name(elf, section), names[i]) == 0)
            return true;
    return false;
}

static bool is_debug(const struct elf_file *elf, const Elf64_Shdr *section)
{
    return strncmp(elf_section_name(elf, section), ".debug_", 7) == 0;
}

static bool is_kept(const struct elf_file *elf, const Elf64_Shdr *section, bool with_debug)
{
    return section->sh_type != SHT_NOBITS && section->sh_size > 0 &&
           (is_symbols(elf, section) || (with_debug && is_debug(elf, section)));
}

/* Sections of a sound object do not overlap: together they are no larger than the object. */
static bool is_sound(const struct elf_file *elf, bool with_debug)
{
    uint64_t left = elf->size < MOST_BYTES ? elf->size : MOST_BYTES;
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (!is_kept(elf, section, with_debug))
            continue;
        if (section->sh_size > left)
            return false;
        left -= section->sh_size;
    }
    return true;
}

static bool debug_fits(const struct elf_file *elf)
{
    uint64_t total = 0;
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (is_debug(elf, section) && (total += section->sh_size) > MOST_DEBUG_BYTES)
            return false;
    }
    return true;
}

/* Header, program headers and section headers first: their sizes are known; then what is kept. */
static void put_file(struct buffer *out, const struct elf_file *elf)
{
    bool with_debug = debug_fits(elf);
    out->failed = !is_sound(elf, with_debug);
    Elf64_Ehdr header = elf->header;
    header.e_phoff = sizeof header;
    header.e_shoff = sizeof header + elf->segment_count * sizeof(Elf64_Phdr);
    uint64_t at = header.e_shoff + elf->section_count * sizeof(Elf64_Shdr);
    buffer_bytes(out, &header, sizeof header);
    buffer_bytes(out, elf->segments, elf->segment_count * sizeof(Elf64_Phdr));
    for (size_t i = 0; i < elf->section_count; i++) {
        Elf64_Shdr section = elf->sections[i];
        if (is_kept(elf, &section, with_debug)) {
            section.sh_offset = at;
            at += section.sh_size;
        } else if (section.sh_type != SHT_NULL) {
            section.sh_type = SHT_NOBITS;
        }
        buffer_bytes(out, &section, sizeof section);
    }
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (!is_kept(elf, section, with_debug) || !buffer_reserve(out, section->sh_size))
            continue;
        if (!elf_read(elf, out->data + out->length, section->sh_size, section->sh_offset))
            out->failed = true;
        out->length += section->sh_size;
    }
}

/* FNV-1a of the path: the name of a module that has no build-id. */
static void name_of(const struct module *module, char *name)
{
    if (module->build_id[0] != '\0') {
        strcpy(name, module->build_id);
        return;
    }
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *at = module->path; *at != '\0'; at++)
        hash = (hash ^ (uint8_t)*at) * 0x100000001b3u;
    strcpy(name, "path-");
    for (int i = 0; i < 16; i++)
        name[5 + i] = "0123456789abcdef"[(hash >> (60 - 4 * i)) & 15];
    name[21] = '\0';
}

void snapshot_write(const char *directory, const struct module *module)
{
    char name[80];
    char path[PATH_MAX];
    struct elf_file elf;
    output_name(path, directory, "symbols", "");
    sys_mkdir(path, 0777);
    name_of(module, name);
    output_name(path, path, name, ".elf");
    if (SYS4(SYS_faccessat, AT_FDCWD, path, 0 /* F_OK */, 0) == 0)
        return;
    if (!elf_open(&elf, module->path) && (module->id != 0 || !elf_open(&elf, "/proc/self/exe")))
        return;
    char build_id[sizeof module->build_id];
    elf_build_id(&elf, build_id, sizeof build_id);
    if (strcmp(build_id, module->build_id) != 0) { /* replaced by another build since */
        elf_close(&elf);
        return;
    }
    struct buffer file = {0};
    put_file(&file, &elf);
    elf_close(&elf);
    long error = output_write_file(path, &file, true);
    if (error != 0 && error != -EEXIST)
        log_debug("no copy of the symbols", path);
    buffer_free(&file);
}

#define _GNU_SOURCE
#include "modules.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "buffer.h"
#include "elf_file.h"
#include "lookup.h"
#include "log.h"
#include "output.h"
#include "sys.h"

#define MOST_DEBUG_BYTES ((uint64_t)32 << 20)
/* A copy takes .6 ms/MB, once a job and node. */
#define MOST_CODE_BYTES ((uint64_t)8 << 20)
#define MOST_BYTES ((uint64_t)1 << 30)
#define MOST_NAMES 16 /* descriptors of the interval thread that stay open */
/* What is copied at a time: a page of fresh memory takes longer than to read and write its contents. */
#define PIECE_BYTES ((size_t)64 << 10)

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_symbols(const struct elf_file *elf, const Elf64_Shdr *section)
{
    static const char *const names[] = {".symtab", ".strtab", ".dynsym", ".dynstr", ".shstrtab", ".note.gnu.build-id",
                                        ".comment"};
    /* Sections that identify functions if there is no .symtab. */
    static const char *const instead[] = {".gnu_debugdata", ".eh_frame", ".eh_frame_hdr", ".gopclntab",
                                          ".data.rel.ro.gopclntab"};
    const char *name = elf_section_name(elf, section);
    return is_among(name, names, sizeof names / sizeof *names) ||
           (elf_section(elf, ".symtab") == NULL && is_among(name, instead, sizeof instead / sizeof *instead));
}

static bool is_debug(const struct elf_file *elf, const Elf64_Shdr *section)
{
    return strncmp(elf_section_name(elf, section), ".debug_", 7) == 0;
}

/* Return whether the section is machine code, or names what its stubs lead to: what is called is read from it. */
static bool is_code(const struct elf_file *elf, const Elf64_Shdr *section)
{
    (void)elf;
    return (section->sh_flags & SHF_EXECINSTR) != 0 ||
           (section->sh_type == SHT_RELA && (section->sh_flags & SHF_ALLOC));
}

/* What is kept beside symbols. */
struct parts {
    bool debug, code;
    const Elf64_Shdr *sizes; /* the section that gets function sizes and replaces .eh_frame; or NULL */
};

static bool is_kept(const struct elf_file *elf, const Elf64_Shdr *section, struct parts with)
{
    bool is_replaced = with.sizes != NULL && strcmp(elf_section_name(elf, section), ".eh_frame") == 0;
    return section->sh_type != SHT_NOBITS && section->sh_size > 0 && !is_replaced &&
           (is_symbols(elf, section) || (with.debug && is_debug(elf, section)) || (with.code && is_code(elf, section)));
}

/* Return whether the sections are valid: without overlap they are together no larger than the object. */
static bool is_sound(const struct elf_file *elf, struct parts with)
{
    uint64_t left = elf->size < MOST_BYTES ? elf->size : MOST_BYTES;
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (!is_kept(elf, section, with))
            continue;
        if (section->sh_size > left)
            return false;
        left -= section->sh_size;
    }
    return true;
}

static bool fits(const struct elf_file *elf, bool (*is_part)(const struct elf_file *, const Elf64_Shdr *),
                 uint64_t most)
{
    uint64_t total = 0;
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (is_part(elf, section) && (total += section->sh_size) > most)
            return false;
    }
    return true;
}

/* A copy that is being written. */
struct copy {
    struct output_draft draft;
    struct buffer piece;
    const struct elf_file *elf;
};

static void flush(struct copy *copy)
{
    output_add(&copy->draft, &copy->piece);
    copy->piece.length = 0;
}

static void put_bytes(struct copy *copy, const void *bytes, size_t length)
{
    if (copy->piece.length + length > PIECE_BYTES)
        flush(copy);
    buffer_bytes(&copy->piece, bytes, length);
}

/* Copy a section from `skip` on. `records`: of the entries that get sizes, or NULL. */
static void put_section(struct copy *copy, const Elf64_Shdr *section, uint64_t skip, const uint8_t *records)
{
    struct buffer *piece = &copy->piece;
    for (uint64_t at = skip, size; at < section->sh_size && !piece->failed; at += size) {
        uint64_t left = section->sh_size - at, room = (PIECE_BYTES - piece->length) & ~(uint64_t)7;
        size = left < room ? left : room;
        uint8_t *into = buffer_reserve(piece, size) ? piece->data + piece->length : NULL;
        if (into == NULL || !elf_read(copy->elf, into, size, section->sh_offset + at))
            piece->failed = true;
        else if (records != NULL)
            unwind_sizes_replace(into, size, copy->elf, records);
        piece->length += size;
        if (size < left)
            flush(copy);
    }
}

static void put_sizes(struct copy *copy, const Elf64_Shdr *section, const uint8_t *records)
{
    uint8_t head[UNWIND_SIZES_HEAD];
    if (!elf_read(copy->elf, head, sizeof head, section->sh_offset))
        copy->piece.failed = true;
    put_bytes(copy, head, sizeof head);
    put_section(copy, section, sizeof head, records);
}

/* Put the header, program headers and section headers, whose sizes are fixed. */
static void put_headers(struct copy *copy, struct parts with)
{
    const struct elf_file *elf = copy->elf;
    Elf64_Ehdr header = elf->header;
    header.e_phoff = sizeof header;
    header.e_shoff = sizeof header + elf->segment_count * sizeof(Elf64_Phdr);
    uint64_t at = header.e_shoff + elf->section_count * sizeof(Elf64_Shdr);
    put_bytes(copy, &header, sizeof header);
    put_bytes(copy, elf->segments, elf->segment_count * sizeof(Elf64_Phdr));
    for (size_t i = 0; i < elf->section_count; i++) {
        Elf64_Shdr section = elf->sections[i];
        if (is_kept(elf, &section, with)) {
            if (&elf->sections[i] == with.sizes)
                section.sh_type = SHT_UNWIND_SIZES;
            section.sh_offset = at;
            at += section.sh_size;
        } else if (section.sh_type != SHT_NULL) {
            section.sh_type = SHT_NOBITS;
        }
        put_bytes(copy, &section, sizeof section);
    }
}

/* Return whether the records of .eh_frame are those in memory with which the module is unwound. */
static bool has_records(const struct elf_file *elf, const struct cfi_table *cfi)
{
    const Elf64_Shdr *frames = elf_section(elf, ".eh_frame");
    return frames != NULL && cfi->frames != NULL && cfi->address == frames->sh_addr && cfi->size >= frames->sh_size;
}

/* Put the headers, then the contents that are kept. */
static void put_file(struct copy *copy, const struct module *module)
{
    const struct elf_file *elf = copy->elf;
    /* The program itself is the one that is built again in place. */
    const struct parts with = {.debug = fits(elf, is_debug, MOST_DEBUG_BYTES),
                               .code = module->id == 0 && fits(elf, is_code, MOST_CODE_BYTES),
                               .sizes = has_records(elf, &module->cfi) ? unwind_sizes_section(elf) : NULL};
    copy->piece.failed = !is_sound(elf, with);
    put_headers(copy, with);
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (!is_kept(elf, section, with))
            continue;
        if (section == with.sizes)
            put_sizes(copy, section, module->cfi.frames);
        else
            put_section(copy, section, 0, NULL);
    }
    flush(copy);
}

static void append_hash(char *name, size_t at, uint64_t hash)
{
    for (size_t i = 0; i < 16; i++)
        name[at + i] = "0123456789abcdef"[(hash >> (60 - 4 * i)) & 15];
    name[at + 16] = '\0';
}

/* Write the module's name: its build-id, or else the hash of its path. */
static void name_of(const struct module *module, char *name)
{
    if (module->build_id[0] != '\0') {
        strcpy(name, module->build_id);
        return;
    }
    strcpy(name, "path-");
    append_hash(name, 5, fnv_text(FNV_OFFSET, module->path));
}

/* Claim a file for this process, so that the first process on a node handles it. The claim is an abstract socket name,
 * which the kernel assigns once and releases when the process ends. The other processes need no file system access.
 * Where paths may mean other files (in containers), the names differ as well. Returns a descriptor, or negative
 * errno. */
static int claim_name(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0incprof-"};
    char space[64] = "";
    sys_readlink("/proc/self/ns/mnt", space, sizeof space - 1);
    append_hash(name.sun_path, 9, fnv_text(fnv_text(FNV_OFFSET, path), space));
    int fd = (int)SYS3(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    long error = SYS3(SYS_bind, fd, &name, offsetof(struct sockaddr_un, sun_path) + 9 + 16);
    if (error == 0)
        return fd;
    sys_close(fd);
    return (int)error;
}

/* Keep the first claims, for modules that all ranks load at the start. Release later ones, because the number of later
 * modules, such as libraries that a program generates and loads, is unlimited; the next process finds the file. */
static void release_name(int name)
{
    static int held;
    if (name >= 0 && held++ >= MOST_NAMES)
        sys_close(name);
}

/* Open the module's file, unless another build has replaced it. */
static bool open_module(struct elf_file *elf, const struct module *module)
{
    char build_id[sizeof module->build_id];
    const struct object_file object = {
        .path = module->path, .pid = module->pid, .inode = module->inode, .is_program = module->id == 0};
    if (!object_file_open(elf, &object))
        return false;
    elf_build_id(elf, build_id, sizeof build_id);
    if (strcmp(build_id, module->build_id) == 0)
        return true;
    elf_close(elf);
    return false;
}

static void write_symbols(const char *folder, const char *path, const struct module *module)
{
    struct elf_file elf;
    struct copy copy = {.elf = &elf};
    if (!open_module(&elf, module))
        return;
    sys_mkdir(folder, 0777);
    output_begin(&copy.draft, path);
    put_file(&copy, module);
    long error = output_end(&copy.draft, path, true);
    if (error != 0 && error != -EEXIST)
        log_debug("no copy of the symbols", path);
    elf_close(&elf);
    buffer_free(&copy.piece);
}

void snapshot_write(const char *directory, const struct module *module)
{
    char name[80];
    char folder[PATH_MAX];
    char path[PATH_MAX];
    output_name(folder, directory, "symbols", "");
    name_of(module, name);
    output_name(path, folder, name, ".elf");
    int taken = claim_name(path);
    if (taken != -EADDRINUSE && SYS4(SYS_faccessat, AT_FDCWD, path, 0 /* F_OK */, 0) != 0)
        write_symbols(folder, path, module);
    release_name(taken);
}

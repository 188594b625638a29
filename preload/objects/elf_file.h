/* The parts of an ELF object that the collector needs, read from its file (or from the mapped vDSO) with every
 * offset and size checked: the file may be truncated or hostile. */
#ifndef INCPROF_ELF_FILE_H
#define INCPROF_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_MOST_SEGMENTS 64
#define ELF_MOST_SECTIONS 65000
#define ELF_MOST_BYTES ((uint64_t)1 << 30) /* of what is loaded at once: files with holes claim to be of any size */

struct elf_file {
    int fd;                /* -1: an image in memory */
    const uint8_t *memory; /* the image, or NULL */
    uint64_t size;         /* of the file or the image */
    Elf64_Ehdr header;
    Elf64_Phdr segments[ELF_MOST_SEGMENTS];
    size_t segment_count;
    Elf64_Shdr *sections; /* NULL when there are none */
    size_t section_count;
    char *section_names; /* NUL-terminated block, or NULL */
    size_t section_names_size;
};

/* Async-signal-safe (raw system calls only), not thread-safe per object. False if it is no ELF object of this
 * processor's. */
bool elf_open(struct elf_file *elf, const char *path);
bool elf_open_memory(struct elf_file *elf, const void *image, size_t size);
void elf_close(struct elf_file *elf);

/* Reads a range of the file. False if it lies outside. */
bool elf_read(const struct elf_file *elf, void *into, size_t bytes, uint64_t offset);

/* As elf_read into new memory, to be given back by sys_free(result, bytes + 1); a NUL follows. NULL on failure. */
void *elf_load(const struct elf_file *elf, uint64_t offset, uint64_t bytes);

const Elf64_Shdr *elf_section(const struct elf_file *elf, const char *name);
const char *elf_section_name(const struct elf_file *elf, const Elf64_Shdr *section);
const Elf64_Phdr *elf_segment(const struct elf_file *elf, uint32_t type);

/* The build-id as lower-case hex into text[size]; the empty string when there is none. */
void elf_build_id(const struct elf_file *elf, char *text, size_t size);

/* Whether the object has an undefined dynamic symbol of this name. */
bool elf_imports(const struct elf_file *elf, const char *name);

/* The dynamic symbols that the object defines, by name; those that it does not are left as they are. */
void elf_exports(const struct elf_file *elf, const char *const *names, size_t count, Elf64_Sym *symbols);

/* The value of a symbol that the object defines, for others or for itself; 0 where it has none of this name. */
uint64_t elf_value(const struct elf_file *elf, const char *name);

/* Whether the object calls mcount or __fentry__ (an undefined dynamic symbol of that name). */
bool elf_calls_mcount(const struct elf_file *elf);

#endif

/* The parts of an ELF object that the collector needs, read from its file (or from the mapped vDSO) with every
 * offset and size checked: the file may be truncated or hostile. */
#ifndef INCPROF_ELF_FILE_H
#define INCPROF_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"

#define ELF_MOST_SEGMENTS 64
#define ELF_MOST_SECTIONS 65000
#define ELF_MOST_NAMES 8
#define ELF_MOST_BYTES ((uint64_t)1 << 30) /* limit of one load; sparse files may claim any size */

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
    bool is_in_place; /* set by the user: the object stays mapped in this process, at `base` */
    uint64_t base;
};

/* Async-signal-safe (raw system calls only), not thread-safe per object. Open an ELF object; false if the file is none
 * for this processor. */
bool elf_open(struct elf_file *elf, const char *path);
bool elf_open_memory(struct elf_file *elf, const void *image, size_t size);
void elf_close(struct elf_file *elf);

/* Read a range of the file. False if it lies outside. */
bool elf_read(const struct elf_file *elf, void *into, size_t bytes, uint64_t offset);

/* Read a range into new memory, with a NUL behind it; free it with sys_free(result, bytes + 1). NULL on failure. */
void *elf_load(const struct elf_file *elf, uint64_t offset, uint64_t bytes);

/* Return where a range of link-time addresses is in this process's memory, if it stays there; else NULL. */
const void *elf_in_place(const struct elf_file *elf, uint64_t address, uint64_t bytes);

const Elf64_Shdr *elf_section(const struct elf_file *elf, const char *name);
const char *elf_section_name(const struct elf_file *elf, const Elf64_Shdr *section);
const Elf64_Phdr *elf_segment(const struct elf_file *elf, uint32_t type);

/* Write the build-id as lower-case hex into text[size]; the empty string if there is none. */
void elf_build_id(const struct elf_file *elf, char *text, size_t size);

/* Return whether the object has an undefined dynamic symbol of this name, of 15 characters at most. */
bool elf_imports(const struct elf_file *elf, const char *name);

/* Look up dynamic symbols by name, ELF_MOST_NAMES at most; entries of symbols that the object does not define are left
 * unchanged. */
void elf_exports(const struct elf_file *elf, const char *const *names, size_t count, Elf64_Sym *symbols);

/* Return the value of a symbol that the object defines, global or local; 0 if no symbol has this name. */
uint64_t elf_value(const struct elf_file *elf, const char *name);

/* Return whether the object calls mcount or __fentry__ (an undefined dynamic symbol of that name). */
bool elf_calls_mcount(const struct elf_file *elf);

/* The file of an ELF object that this or another process has mapped. */
struct object_file {
    const char *path; /* as the process names it */
    pid_t pid;        /* the process, or 0: this one */
    uint64_t inode;   /* of the file that was mapped */
    bool is_program;  /* the process's executable */
};

/* Open it. Another process may have another file system (a container). False if the file no longer exists.
 * Async-signal-safe. */
bool object_file_open(struct elf_file *elf, const struct object_file *file);

/* Function sizes from the records in .eh_frame: a tenth of its bytes, and all that symbol resolution needs. */

/* The section type of a copied .eh_frame_hdr whose entries hold the function's size in place of its record's position;
 * size 0 if the record does not have the usual form. The copy has no .eh_frame, and the type keeps tools from reading
 * the section as an .eh_frame_hdr. */
#define SHT_UNWIND_SIZES (SHT_LOUSER + 0x696e6370)

/* Return the section of an object that is copied in this form; NULL if there is none. Async-signal-safe, as all
 * here. */
const Elf64_Shdr *unwind_sizes_section(const struct elf_file *elf);

#define UNWIND_SIZES_HEAD 12 /* bytes before its entries */

/* Replace the positions in some of its entries by sizes. `records`: the contents of .eh_frame. */
void unwind_sizes_replace(uint8_t *entries, size_t bytes, const struct elf_file *elf, const uint8_t *records);

#endif

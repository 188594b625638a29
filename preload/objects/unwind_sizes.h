/* How long functions are by their records in .eh_frame: a tenth of it, and all that symbols need of it. */
#ifndef INCPROF_UNWIND_SIZES_H
#define INCPROF_UNWIND_SIZES_H

#include "buffer.h"
#include "elf_file.h"

/* The type of an .eh_frame_hdr of a copy whose entries have the function's size in place of where its record is: 0 if
 * that is not of the usual form. There is no .eh_frame then, and no tool takes the section for its header. */
#define SHT_UNWIND_SIZES (SHT_LOUSER + 0x696e6370)

/* The section of an object that is copied in this way; NULL where there is none. Async-signal-safe, as all here. */
const Elf64_Shdr *unwind_sizes_section(const struct elf_file *elf);

/* Appends what takes its place: as many bytes. */
void unwind_sizes_put(struct buffer *out, const struct elf_file *elf);

#endif

/* How long functions are by their records in .eh_frame: a tenth of it, and all that symbols need of it. */
#ifndef INCPROF_UNWIND_SIZES_H
#define INCPROF_UNWIND_SIZES_H

#include "buffer.h"
#include "elf_file.h"

/* The type of an .eh_frame section of a copy that holds these sizes instead, one for each entry of .eh_frame_hdr: four
 * bytes, 0 where the record is not of the usual form. No tool takes such a section for records. */
#define SHT_UNWIND_SIZES (SHT_LOUSER + 0x696e6370)

/* Bytes of the sizes; 0 where there are no records, or fewer bytes of them. Async-signal-safe, as all here. */
uint64_t unwind_sizes_length(const struct elf_file *elf);

/* Appends so many bytes. */
void unwind_sizes_put(struct buffer *out, const struct elf_file *elf);

#endif

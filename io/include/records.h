/* Records of kind 11 (docs/reference/formats.md) that this library writes. */
#ifndef INCPROF_IO_RECORDS_H
#define INCPROF_IO_RECORDS_H

#include "buffer.h"

enum { RECORD_NAMES = 5, RECORD_COUNTS = 6, RECORD_PATHS = 7 };

/* Append a record, and free its content. */
static inline void put_record(struct buffer *out, uint64_t type, struct buffer *record)
{
    if (record->failed || record->length == 0) {
        buffer_free(record);
        return;
    }
    buffer_varint(out, type);
    buffer_varint(out, record->length);
    buffer_bytes(out, record->data, record->length);
    buffer_free(record);
}

#endif

/* Output that is still in the buffers of stdio when a program exits. libc writes it after the last exit handler, when
 * nothing is recorded any more: one call for each stream, as a rule.
 *
 * Thread safety: under libc's lock of its list of streams, which exit takes a moment later itself. A stream that
 * another thread writes to meanwhile may be counted with a part of that. */
#define _GNU_SOURCE
#include <stdio.h>

#include "procio.h"

/* glibc alone; other C libraries have no such list. */
extern FILE *_IO_list_all __attribute__((weak));
extern void _IO_list_lock(void) __attribute__((weak));
extern void _IO_list_unlock(void) __attribute__((weak));

/* Wide characters are converted when they are written: their bytes are not known yet. */
static uint64_t bytes_left(const FILE *stream)
{
    bool is_file = stream->_fileno >= 0 && stream->_mode <= 0;
    return is_file && stream->_IO_write_ptr > stream->_IO_write_base
               ? (uint64_t)(stream->_IO_write_ptr - stream->_IO_write_base)
               : 0;
}

void procio_note_buffers(void)
{
    uint64_t bytes = 0, streams = 0;
    if (&_IO_list_all == NULL || _IO_list_lock == NULL || _IO_list_unlock == NULL)
        return;
    _IO_list_lock();
    for (const FILE *stream = _IO_list_all; stream != NULL; stream = stream->_chain) {
        uint64_t left = bytes_left(stream);
        bytes += left;
        streams += left > 0;
    }
    _IO_list_unlock();
    procio_add_at_end(bytes, streams);
}

/* The first byte of what is no expected event; docs/formats.md has what follows each. */
#ifndef TRACE_RECORDS_H
#define TRACE_RECORDS_H

enum record {
    RECORD_EXPECTED = 1, /* an event of the expected shape, whose work is not its gap */
    RECORD_KNOWN,        /* of a known shape */
    RECORD_KNOWN_WORK,   /* the same, with its work */
    RECORD_NEW,          /* of a new shape */
    RECORD_FORGET,       /* shapes are numbered from 0 again */
    RECORD_THREAD,       /* another thread writes here from now on */
    RECORD_FUNCTION,
    RECORD_MODULE,
    RECORD_SITE,
    RECORD_OBJECT,
    RECORD_LOST /* so many events are missing here */
};

/* What an expected event begins with, whose work is its gap: the duration in seven bits, this one for more. */
#define RECORD_STEADY 0x80
#define STEADY_MORE 0x7f

#endif

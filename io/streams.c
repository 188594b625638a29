/* Wrappers of stdio. Its calls into the kernel are within libc, and cannot be seen: what a program reads and writes by
 * streams is counted here, in a layer of its own. Streams in memory and those of the program's own functions are left
 * out, and wide characters are not seen. As thread-safe as libc's. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "wrap.h"

#undef getc
#undef putc
#undef getchar
#undef putchar
#undef getc_unlocked
#undef putc_unlocked
#undef getchar_unlocked
#undef putchar_unlocked
#undef fread_unlocked
#undef fwrite_unlocked

/* Count a call on a stream of a file. */
static void end_stream(const struct io_call *call, enum operation operation, const FILE *stream, int64_t result)
{
    if (call->thread != NULL && stream->_fileno >= 0)
        io_end(call, operation, descriptor_file(stream->_fileno), result);
}

/* A call whose result is `type`; `bytes`: an expression of `result`, negative if it failed. */
#define STREAM(type, name, operation, stream, declared, arguments, bytes)                                              \
    extern type name declared;                                                                                         \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT type name declared                                                                                          \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        io_begin(&call, false);                                                                                        \
        type result = NEXT(name) arguments;                                                                            \
        end_stream(&call, operation, stream, bytes);                                                                   \
        return result;                                                                                                 \
    }

#define READING(type, name, declared, arguments, bytes)                                                                \
    STREAM(type, name, OP_STREAM_READ, stream, declared, arguments, bytes)
#define WRITING(type, name, declared, arguments, bytes)                                                                \
    STREAM(type, name, OP_STREAM_WRITE, stream, declared, arguments, bytes)

#define ITEMS ((int64_t)(result * size))
#define ONE_CHARACTER (result == EOF ? 0 : 1)
#define TEXT_READ (result == NULL ? 0 : (int64_t)strlen(to))
#define LINE_READ ((int64_t)(result < 0 ? 0 : result))

READING(size_t, fread, (void *restrict to, size_t size, size_t count, FILE *restrict stream), (to, size, count, stream),
        ITEMS)
READING(size_t, fread_unlocked, (void *restrict to, size_t size, size_t count, FILE *restrict stream),
        (to, size, count, stream), ITEMS)
READING(size_t, __fread_chk, (void *restrict to, size_t room, size_t size, size_t count, FILE *restrict stream),
        (to, room, size, count, stream), ITEMS)
READING(size_t, __fread_unlocked_chk,
        (void *restrict to, size_t room, size_t size, size_t count, FILE *restrict stream),
        (to, room, size, count, stream), ITEMS)
READING(char *, fgets, (char *restrict to, int room, FILE *restrict stream), (to, room, stream), TEXT_READ)
READING(char *, fgets_unlocked, (char *restrict to, int room, FILE *restrict stream), (to, room, stream), TEXT_READ)
READING(char *, __fgets_chk, (char *restrict to, size_t size, int room, FILE *restrict stream),
        (to, size, room, stream), TEXT_READ)
READING(char *, __fgets_unlocked_chk, (char *restrict to, size_t size, int room, FILE *restrict stream),
        (to, size, room, stream), TEXT_READ)
READING(int, fgetc, (FILE * stream), (stream), ONE_CHARACTER)
READING(int, getc, (FILE * stream), (stream), ONE_CHARACTER)
READING(int, _IO_getc, (FILE * stream), (stream), ONE_CHARACTER)
READING(int, fgetc_unlocked, (FILE * stream), (stream), ONE_CHARACTER)
READING(int, getc_unlocked, (FILE * stream), (stream), ONE_CHARACTER)
/* A program that reads by macros enters libc here, once for each buffer, and takes all of it. */
READING(int, __uflow, (FILE * stream), (stream), result == EOF ? 0 : 1 + stream->_IO_read_end - stream->_IO_read_ptr)
READING(ssize_t, getline, (char **restrict line, size_t *restrict size, FILE *restrict stream), (line, size, stream),
        LINE_READ)
READING(ssize_t, getdelim, (char **restrict line, size_t *restrict size, int end, FILE *restrict stream),
        (line, size, end, stream), LINE_READ)
READING(ssize_t, __getdelim, (char **restrict line, size_t *restrict size, int end, FILE *restrict stream),
        (line, size, end, stream), LINE_READ)
STREAM(int, getchar, OP_STREAM_READ, stdin, (void), (), ONE_CHARACTER)
STREAM(int, getchar_unlocked, OP_STREAM_READ, stdin, (void), (), ONE_CHARACTER)

WRITING(size_t, fwrite, (const void *restrict from, size_t size, size_t count, FILE *restrict stream),
        (from, size, count, stream), ITEMS)
WRITING(size_t, fwrite_unlocked, (const void *restrict from, size_t size, size_t count, FILE *restrict stream),
        (from, size, count, stream), ITEMS)
WRITING(int, fputs, (const char *restrict text, FILE *restrict stream), (text, stream),
        result < 0 ? -1 : (int64_t)strlen(text))
WRITING(int, fputs_unlocked, (const char *restrict text, FILE *restrict stream), (text, stream),
        result < 0 ? -1 : (int64_t)strlen(text))
WRITING(int, fputc, (int character, FILE *stream), (character, stream), result == EOF ? -1 : 1)
WRITING(int, putc, (int character, FILE *stream), (character, stream), result == EOF ? -1 : 1)
WRITING(int, _IO_putc, (int character, FILE *stream), (character, stream), result == EOF ? -1 : 1)
WRITING(int, fputc_unlocked, (int character, FILE *stream), (character, stream), result == EOF ? -1 : 1)
WRITING(int, putc_unlocked, (int character, FILE *stream), (character, stream), result == EOF ? -1 : 1)
STREAM(int, putchar, OP_STREAM_WRITE, stdout, (int character), (character), result == EOF ? -1 : 1)
STREAM(int, putchar_unlocked, OP_STREAM_WRITE, stdout, (int character), (character), result == EOF ? -1 : 1)
STREAM(int, puts, OP_STREAM_WRITE, stdout, (const char *text), (text), result < 0 ? -1 : 1 + (int64_t)strlen(text))
WRITING(int, vfprintf, (FILE *restrict stream, const char *restrict format, va_list words), (stream, format, words),
        result)
WRITING(int, __vfprintf_chk, (FILE *restrict stream, int flag, const char *restrict format, va_list words),
        (stream, flag, format, words), result)
STREAM(int, vprintf, OP_STREAM_WRITE, stdout, (const char *restrict format, va_list words), (format, words), result)
STREAM(int, __vprintf_chk, OP_STREAM_WRITE, stdout, (int flag, const char *restrict format, va_list words),
       (flag, format, words), result)

/* Calls with a variable number of arguments go to the forms that take a list. */
#define LISTED(type, name, last, declared, real)                                                                       \
    extern type name declared;                                                                                         \
    EXPORT type name declared                                                                                          \
    {                                                                                                                  \
        va_list words;                                                                                                 \
        va_start(words, last);                                                                                         \
        type result = (real);                                                                                          \
        va_end(words);                                                                                                 \
        return result;                                                                                                 \
    }

LISTED(int, fprintf, format, (FILE *restrict stream, const char *restrict format, ...), vfprintf(stream, format, words))
LISTED(int, printf, format, (const char *restrict format, ...), vprintf(format, words))
LISTED(int, __fprintf_chk, format, (FILE * stream, int flag, const char *format, ...),
       __vfprintf_chk(stream, flag, format, words))
LISTED(int, __printf_chk, format, (int flag, const char *format, ...), __vprintf_chk(flag, format, words))

/* These write to the descriptor itself. */
#define TO_DESCRIPTOR(name, declared, arguments)                                                                       \
    extern int name declared;                                                                                          \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT int name declared                                                                                           \
    {                                                                                                                  \
        TRANSFER(int, OP_WRITE, fd, NEXT(name) arguments);                                                             \
    }
TO_DESCRIPTOR(vdprintf, (int fd, const char *restrict format, va_list words), (fd, format, words))
TO_DESCRIPTOR(__vdprintf_chk, (int fd, int flag, const char *restrict format, va_list words), (fd, flag, format, words))
LISTED(int, dprintf, format, (int fd, const char *restrict format, ...), vdprintf(fd, format, words))
LISTED(int, __dprintf_chk, format, (int fd, int flag, const char *format, ...), __vdprintf_chk(fd, flag, format, words))

/* What scanf has taken from the buffer: all, if it was refilled once. */
struct place {
    const char *base, *at, *end;
};

static struct place place_in(const FILE *stream)
{
    return (struct place){stream->_IO_read_base, stream->_IO_read_ptr, stream->_IO_read_end};
}

static int64_t taken(struct place before, struct place now)
{
    bool is_same = before.base == now.base && before.end == now.end && now.at >= before.at;
    return is_same ? now.at - before.at : (before.end - before.at) + (now.at - now.base);
}

#define SCAN(name, stream, declared, arguments)                                                                        \
    extern int name declared;                                                                                          \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT int name declared                                                                                           \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        io_begin(&call, false);                                                                                        \
        struct place before = place_in(stream);                                                                        \
        int result = NEXT(name) arguments;                                                                             \
        end_stream(&call, OP_STREAM_READ, stream, taken(before, place_in(stream)));                                    \
        return result;                                                                                                 \
    }

/* As compilers name them, by the version of the C standard; those of before C99 are not seen. */
#define SCANS(standard)                                                                                                \
    SCAN(__##standard##_vfscanf, stream, (FILE * stream, const char *format, va_list words), (stream, format, words))  \
    SCAN(__##standard##_vscanf, stdin, (const char *format, va_list words), (format, words))                           \
    LISTED(int, __##standard##_fscanf, format, (FILE * stream, const char *format, ...),                               \
           __##standard##_vfscanf(stream, format, words))                                                              \
    LISTED(int, __##standard##_scanf, format, (const char *format, ...), __##standard##_vscanf(format, words))
SCANS(isoc99)
SCANS(isoc23) /* glibc 2.38 */

/* Streams that are opened and closed. libc's own call is not seen, so that the descriptor is new or gone. */
static FILE *end_open(const struct io_call *call, FILE *stream)
{
    if (call->thread != NULL) {
        if (stream != NULL)
            descriptor_forget(stream->_fileno);
        io_end(call, OP_OPEN, FILE_NONE, stream == NULL ? -1 : 0);
    }
    return stream;
}

#define OPENED(name, declared, arguments)                                                                              \
    extern FILE *name declared;                                                                                        \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT FILE *name declared                                                                                         \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        io_begin(&call, false);                                                                                        \
        return end_open(&call, NEXT(name) arguments);                                                                  \
    }

OPENED(fopen, (const char *restrict path, const char *restrict mode), (path, mode))
OPENED(fopen64, (const char *restrict path, const char *restrict mode), (path, mode))
OPENED(freopen, (const char *restrict path, const char *restrict mode, FILE *restrict stream), (path, mode, stream))
OPENED(freopen64, (const char *restrict path, const char *restrict mode, FILE *restrict stream), (path, mode, stream))
OPENED(popen, (const char *command, const char *mode), (command, mode))

static int end_close(const struct io_call *call, int result)
{
    io_end(call, OP_CLOSE, FILE_NONE, result < 0 ? -1 : 0);
    return result;
}

#define CLOSED(name, declared, arguments)                                                                              \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT int name declared                                                                                           \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        io_begin(&call, true);                                                                                         \
        if (call.thread != NULL)                                                                                       \
            descriptor_forget(stream->_fileno);                                                                        \
        return end_close(&call, NEXT(name) arguments);                                                                 \
    }

CLOSED(fclose, (FILE * stream), (stream))
CLOSED(pclose, (FILE * stream), (stream))

DECLARE_NEXT(fflush);
EXPORT int fflush(FILE *stream)
{
    struct io_call call;
    io_begin(&call, false);
    int result = NEXT(fflush)(stream);
    if (stream == NULL)
        io_end(&call, OP_FLUSH, FILE_NONE, result < 0 ? -1 : 0);
    else
        end_stream(&call, OP_FLUSH, stream, result < 0 ? -1 : 0);
    return result;
}

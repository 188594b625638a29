/* Wrappers of stdio. Its calls into the kernel are within libc, and cannot be seen: what a stream fetches from its file
 * and sends there is counted here, in a layer of its own, by the call that made it: what it returned, and what there is
 * in the buffer before and after it. Calls that the buffer serves are not counted, and cost next to nothing. Streams in
 * memory and those of the program's own functions are left out, and wide characters are not seen.
 *
 * As thread-safe as libc's. A stream that several threads use is looked at without its lock, so that what one of them
 * fetches may count as another's. */
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

#define SHORT_TEXT 256

/* What the buffer holds for the program, what it holds for the file, and its room. */
static inline int64_t unread(const FILE *stream)
{
    return stream->_IO_read_end - stream->_IO_read_ptr;
}

static inline int64_t pending(const FILE *stream)
{
    return stream->_IO_write_ptr - stream->_IO_write_base;
}

static inline int64_t room(const FILE *stream)
{
    return stream->_IO_write_end - stream->_IO_write_ptr;
}

/* Begin a call that is expected to enter the kernel, or not. */
static inline void begin_stream(struct io_call *call, bool is_expected)
{
    *call = (struct io_call){.weight = 1};
    if (is_expected)
        io_begin(call, false);
}

/* Count what a call has moved, in any case if it failed. */
static void end_stream(struct io_call *call, enum operation operation, const FILE *stream, int64_t moved, bool failed)
{
    /* More than the buffer and the call's own data: another thread uses the stream. */
    if (stream->_fileno < 0 || (moved <= 0 && !failed) || moved > INT32_MAX * (int64_t)64)
        return;
    if (call->thread == NULL)
        io_begin_untimed(call);
    if (call->thread != NULL)
        io_end(call, operation, descriptor_file(stream->_fileno), failed ? -1 : moved);
}

/* `expected`: whether the buffer is too short. `taken`: the bytes that the program got, an expression of `result`. */
#define READING(type, name, stream, declared, arguments, expected, taken)                                              \
    extern type name declared;                                                                                         \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT type name declared                                                                                          \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        int64_t before = unread(stream);                                                                               \
        begin_stream(&call, expected);                                                                                 \
        type result = NEXT(name) arguments;                                                                            \
        end_stream(&call, OP_STREAM_READ, stream, (taken) + unread(stream) - before, false);                           \
        return result;                                                                                                 \
    }

#define BYTES(count) ((int64_t)(size * (count)))
#define BLOCK(name, declared, arguments)                                                                               \
    READING(size_t, name, stream, declared, arguments, BYTES(count) > before, BYTES(result))
#define TEXT(name, declared, arguments)                                                                                \
    READING(char *, name, stream, declared, arguments, before < SHORT_TEXT, result == NULL ? 0 : (int64_t)strlen(to))
#define LINE(name, declared, arguments)                                                                                \
    READING(ssize_t, name, stream, declared, arguments, before < SHORT_TEXT, result < 0 ? 0 : result)

BLOCK(fread, (void *restrict to, size_t size, size_t count, FILE *restrict stream), (to, size, count, stream))
BLOCK(fread_unlocked, (void *restrict to, size_t size, size_t count, FILE *restrict stream), (to, size, count, stream))
BLOCK(__fread_chk, (void *restrict to, size_t space, size_t size, size_t count, FILE *restrict stream),
      (to, space, size, count, stream))
BLOCK(__fread_unlocked_chk, (void *restrict to, size_t space, size_t size, size_t count, FILE *restrict stream),
      (to, space, size, count, stream))
TEXT(fgets, (char *restrict to, int space, FILE *restrict stream), (to, space, stream))
TEXT(fgets_unlocked, (char *restrict to, int space, FILE *restrict stream), (to, space, stream))
TEXT(__fgets_chk, (char *restrict to, size_t size, int space, FILE *restrict stream), (to, size, space, stream))
TEXT(__fgets_unlocked_chk, (char *restrict to, size_t size, int space, FILE *restrict stream),
     (to, size, space, stream))
LINE(getline, (char **restrict line, size_t *restrict size, FILE *restrict stream), (line, size, stream))
LINE(getdelim, (char **restrict line, size_t *restrict size, int end, FILE *restrict stream), (line, size, end, stream))
LINE(__getdelim, (char **restrict line, size_t *restrict size, int end, FILE *restrict stream),
     (line, size, end, stream))

/* Characters: the buffer serves most of them. */
#define CHARACTER(name, stream, declared, arguments)                                                                   \
    extern int name declared;                                                                                          \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT int name declared                                                                                           \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        if (unread(stream) > 0)                                                                                        \
            return NEXT(name) arguments;                                                                               \
        begin_stream(&call, true);                                                                                     \
        int result = NEXT(name) arguments;                                                                             \
        end_stream(&call, OP_STREAM_READ, stream, result == EOF ? 0 : 1 + unread(stream), false);                      \
        return result;                                                                                                 \
    }

CHARACTER(fgetc, stream, (FILE * stream), (stream))
CHARACTER(getc, stream, (FILE * stream), (stream))
CHARACTER(_IO_getc, stream, (FILE * stream), (stream))
CHARACTER(fgetc_unlocked, stream, (FILE * stream), (stream))
CHARACTER(getc_unlocked, stream, (FILE * stream), (stream))
CHARACTER(getchar, stdin, (void), ())
CHARACTER(getchar_unlocked, stdin, (void), ())
CHARACTER(__uflow, stream, (FILE * stream), (stream)) /* called by macros, when the buffer is empty */

/* `expected`: whether the buffer is too full. `given`: the bytes that the program gave, an expression of `result`. */
#define WRITING(type, name, stream, declared, arguments, expected, given, failed)                                      \
    extern type name declared;                                                                                         \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT type name declared                                                                                          \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        int64_t before = pending(stream);                                                                              \
        begin_stream(&call, expected);                                                                                 \
        type result = NEXT(name) arguments;                                                                            \
        end_stream(&call, OP_STREAM_WRITE, stream, (given) + before - pending(stream), failed);                        \
        return result;                                                                                                 \
    }

#define ITEMS(name)                                                                                                    \
    WRITING(size_t, name, stream, (const void *restrict from, size_t size, size_t count, FILE *restrict stream),       \
            (from, size, count, stream), BYTES(count) >= room(stream), BYTES(result), result < count && size > 0)
ITEMS(fwrite)
ITEMS(fwrite_unlocked)

#define STRING(name)                                                                                                   \
    WRITING(int, name, stream, (const char *restrict text, FILE *restrict stream), (text, stream),                     \
            room(stream) < SHORT_TEXT, result < 0 ? 0 : (int64_t)strlen(text), result < 0)
STRING(fputs)
STRING(fputs_unlocked)
WRITING(int, puts, stdout, (const char *text), (text), room(stdout) < SHORT_TEXT,
        result < 0 ? 0 : 1 + (int64_t)strlen(text), result < 0)

#define FORMATTED(name, stream, declared, arguments)                                                                   \
    WRITING(int, name, stream, declared, arguments, room(stream) < SHORT_TEXT, result < 0 ? 0 : result, result < 0)
FORMATTED(vfprintf, stream, (FILE *restrict stream, const char *restrict format, va_list words),
          (stream, format, words))
FORMATTED(__vfprintf_chk, stream, (FILE *restrict stream, int flag, const char *restrict format, va_list words),
          (stream, flag, format, words))
FORMATTED(vprintf, stdout, (const char *restrict format, va_list words), (format, words))
FORMATTED(__vprintf_chk, stdout, (int flag, const char *restrict format, va_list words), (flag, format, words))

#define ONE(name, stream, declared, arguments)                                                                         \
    extern int name declared;                                                                                          \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT int name declared                                                                                           \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        if (room(stream) > 0)                                                                                          \
            return NEXT(name) arguments;                                                                               \
        int64_t before = pending(stream);                                                                              \
        begin_stream(&call, true);                                                                                     \
        int result = NEXT(name) arguments;                                                                             \
        end_stream(&call, OP_STREAM_WRITE, stream, (result != EOF) + before - pending(stream), result == EOF);         \
        return result;                                                                                                 \
    }

ONE(fputc, stream, (int character, FILE *stream), (character, stream))
ONE(putc, stream, (int character, FILE *stream), (character, stream))
ONE(_IO_putc, stream, (int character, FILE *stream), (character, stream))
ONE(fputc_unlocked, stream, (int character, FILE *stream), (character, stream))
ONE(putc_unlocked, stream, (int character, FILE *stream), (character, stream))
ONE(putchar, stdout, (int character), (character))
ONE(putchar_unlocked, stdout, (int character), (character))
ONE(__overflow, stream, (FILE * stream, int character), (stream, character)) /* called by macros */

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

/* scanf does not return what it has taken. If the buffer was filled again, once, all that is in it was fetched. */
struct place {
    const char *base, *end;
};

static int64_t fetched(struct place before, const FILE *stream)
{
    bool is_same = before.base == stream->_IO_read_base && before.end == stream->_IO_read_end;
    return is_same ? 0 : stream->_IO_read_end - stream->_IO_read_base;
}

#define SCAN(name, stream, declared, arguments)                                                                        \
    extern int name declared;                                                                                          \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT int name declared                                                                                           \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        const struct place before = {stream->_IO_read_base, stream->_IO_read_end};                                     \
        begin_stream(&call, unread(stream) < SHORT_TEXT);                                                              \
        int result = NEXT(name) arguments;                                                                             \
        end_stream(&call, OP_STREAM_READ, stream, fetched(before, stream), false);                                     \
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

/* These send what is pending. */
#define SENDING(type, name, declared, arguments, failed)                                                               \
    extern type name declared;                                                                                         \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT type name declared                                                                                          \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        int64_t before = pending(stream);                                                                              \
        begin_stream(&call, before > 0);                                                                               \
        type result = NEXT(name) arguments;                                                                            \
        end_stream(&call, OP_STREAM_WRITE, stream, before - pending(stream), failed);                                  \
        return result;                                                                                                 \
    }
SENDING(int, fseek, (FILE * stream, long offset, int whence), (stream, offset, whence), result < 0)
SENDING(int, fseeko, (FILE * stream, off_t offset, int whence), (stream, offset, whence), result < 0)
SENDING(int, fseeko64, (FILE * stream, off64_t offset, int whence), (stream, offset, whence), result < 0)

DECLARE_NEXT(rewind);
EXPORT void rewind(FILE *stream)
{
    struct io_call call;
    int64_t before = pending(stream);
    begin_stream(&call, before > 0);
    NEXT(rewind)(stream);
    end_stream(&call, OP_STREAM_WRITE, stream, before - pending(stream), false);
}

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

/* Closing sends what is pending, and leaves no stream to look at. */
#define CLOSED(name)                                                                                                   \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT int name(FILE *stream)                                                                                      \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        io_begin(&call, true);                                                                                         \
        int64_t left = call.thread != NULL && stream->_fileno >= 0 && stream->_mode <= 0 ? pending(stream) : 0;        \
        uint32_t file = left > 0 ? descriptor_file(stream->_fileno) : FILE_NONE;                                       \
        if (call.thread != NULL)                                                                                       \
            descriptor_forget(stream->_fileno);                                                                        \
        int result = NEXT(name)(stream);                                                                               \
        if (left > 0)                                                                                                  \
            io_end(&call, OP_STREAM_WRITE, file, result < 0 ? -1 : left);                                              \
        else                                                                                                           \
            io_end(&call, OP_CLOSE, FILE_NONE, result < 0 ? -1 : 0);                                                   \
        return result;                                                                                                 \
    }
CLOSED(fclose)
CLOSED(pclose)

DECLARE_NEXT(fflush);
EXPORT int fflush(FILE *stream)
{
    struct io_call call;
    int64_t before = stream != NULL ? pending(stream) : 0;
    io_begin(&call, false);
    int result = NEXT(fflush)(stream);
    if (stream == NULL)
        io_end(&call, OP_FLUSH, FILE_NONE, result < 0 ? -1 : 0);
    else if (before > 0)
        end_stream(&call, OP_STREAM_WRITE, stream, before - pending(stream), result < 0);
    return result;
}

/* Wrappers of stdio, whose system calls are made inside libc and so cannot be wrapped. The bytes that a call transfers
 * between a stream and its file are computed from its result and from the fill of the buffer before and after it. A
 * call that the buffer serves is not counted, and costs next to nothing. Not counted either: streams in memory, streams
 * of the program's own functions (fopencookie), and wide characters.
 *
 * As thread-safe as libc's. The buffer of a stream that several threads use is read without its lock, so one thread's
 * transfer may be counted as another's. The pointers `..._hot` are atomic. */
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

/* Flag of a stream that reads from what ungetc has put back; the rest of its buffer is at `_IO_save_base`. */
#define IN_BACKUP 0x100

/* Bytes that the next reads get at once. */
static inline int64_t readable(const FILE *stream)
{
    return stream->_IO_read_end - stream->_IO_read_ptr;
}

/* Return whether there are any: two instructions fewer. */
static inline bool is_readable(const FILE *stream)
{
    return stream->_IO_read_ptr < stream->_IO_read_end;
}

/* Bytes in the buffer that the program has not read, that are not written to the file, and that are free. */
static inline int64_t unread(const FILE *stream)
{
    bool is_in_backup = (stream->_flags & IN_BACKUP) != 0;
    return readable(stream) + (is_in_backup ? stream->_IO_save_end - stream->_IO_save_base : 0);
}

static inline int64_t pending(const FILE *stream)
{
    return stream->_IO_write_ptr - stream->_IO_write_base;
}

static inline int64_t room(const FILE *stream)
{
    return stream->_IO_write_end - stream->_IO_write_ptr;
}

static inline bool has_room(const FILE *stream)
{
    return stream->_IO_write_ptr < stream->_IO_write_end;
}

/* Define a pointer to the next definition, which the first call sets. NEXT would test whether it is known, and need a
 * stack frame for that. */
#define DECLARE_HOT(name, declared, arguments)                                                                         \
    static __attribute__((noinline, cold)) int name##_at_first declared;                                               \
    static __typeof__(&name) name##_hot = name##_at_first;                                                             \
    static int name##_at_first declared                                                                                \
    {                                                                                                                  \
        __atomic_store_n(&name##_hot, NEXT(name), __ATOMIC_RELAXED);                                                   \
        return NEXT(name) arguments;                                                                                   \
    }
#define HOT(name) __atomic_load_n(&name##_hot, __ATOMIC_RELAXED)

/* Begin a call that is expected to enter the kernel, or not, to transfer `bytes` or, with 0, at most a buffer or so. */
static inline void begin_stream(struct io_call *call, enum operation operation, size_t bytes, bool is_expected)
{
    *call = (struct io_call){.weight = 1};
    if (is_expected)
        io_begin(call, operation, bytes, false);
}

/* Count the bytes that a call transferred; a call that failed is counted in any case. */
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

/* `bytes`: wanted; 0: few. `expected`: whether the buffer holds too little. `taken`: the bytes that the program got,
 * computed from `result`. */
#define STREAM_READ(type, name, stream, declared, arguments, bytes, expected, taken)                                   \
    extern type name declared;                                                                                         \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT type name declared                                                                                          \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        int64_t before = unread(stream);                                                                               \
        begin_stream(&call, OP_STREAM_READ, bytes, expected);                                                          \
        type result = NEXT(name) arguments;                                                                            \
        end_stream(&call, OP_STREAM_READ, stream, (taken) + unread(stream) - before, false);                           \
        return result;                                                                                                 \
    }

#define BYTES(count) ((int64_t)(size * (count)))
#define READ_ITEMS(name, declared, arguments)                                                                          \
    STREAM_READ(size_t, name, stream, declared, arguments, (size_t)BYTES(count), BYTES(count) > before, BYTES(result))
#define READ_TEXT(name, declared, arguments)                                                                           \
    STREAM_READ(char *, name, stream, declared, arguments, 0, before < SHORT_TEXT,                                     \
                result == NULL ? 0 : (int64_t)strlen(to))
#define READ_LINE(name, declared, arguments)                                                                           \
    STREAM_READ(ssize_t, name, stream, declared, arguments, 0, before < SHORT_TEXT, result < 0 ? 0 : result)

READ_ITEMS(fread, (void *restrict to, size_t size, size_t count, FILE *restrict stream), (to, size, count, stream))
READ_ITEMS(fread_unlocked, (void *restrict to, size_t size, size_t count, FILE *restrict stream),
           (to, size, count, stream))
READ_ITEMS(__fread_chk, (void *restrict to, size_t space, size_t size, size_t count, FILE *restrict stream),
           (to, space, size, count, stream))
READ_ITEMS(__fread_unlocked_chk, (void *restrict to, size_t space, size_t size, size_t count, FILE *restrict stream),
           (to, space, size, count, stream))
READ_TEXT(fgets, (char *restrict to, int space, FILE *restrict stream), (to, space, stream))
READ_TEXT(fgets_unlocked, (char *restrict to, int space, FILE *restrict stream), (to, space, stream))
READ_TEXT(__fgets_chk, (char *restrict to, size_t size, int space, FILE *restrict stream), (to, size, space, stream))
READ_TEXT(__fgets_unlocked_chk, (char *restrict to, size_t size, int space, FILE *restrict stream),
          (to, size, space, stream))
READ_LINE(getline, (char **restrict line, size_t *restrict size, FILE *restrict stream), (line, size, stream))
READ_LINE(getdelim, (char **restrict line, size_t *restrict size, int end, FILE *restrict stream),
          (line, size, end, stream))
READ_LINE(__getdelim, (char **restrict line, size_t *restrict size, int end, FILE *restrict stream),
          (line, size, end, stream))

/* Characters: the buffer serves most of them. */
#define READ_CHARACTER(name, stream, declared, arguments)                                                              \
    extern int name declared;                                                                                          \
    DECLARE_NEXT(name);                                                                                                \
    DECLARE_HOT(name, declared, arguments)                                                                             \
    static __attribute__((noinline, cold)) int name##_from_file declared                                               \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        int64_t before = unread(stream);                                                                               \
        begin_stream(&call, OP_STREAM_READ, 0, before == 0);                                                           \
        int result = NEXT(name) arguments;                                                                             \
        end_stream(&call, OP_STREAM_READ, stream, result == EOF ? 0 : 1 + unread(stream) - before, false);             \
        return result;                                                                                                 \
    }                                                                                                                  \
    EXPORT int name declared                                                                                           \
    {                                                                                                                  \
        return is_readable(stream) ? HOT(name) arguments : name##_from_file arguments;                                 \
    }

READ_CHARACTER(fgetc, stream, (FILE * stream), (stream))
READ_CHARACTER(getc, stream, (FILE * stream), (stream))
READ_CHARACTER(_IO_getc, stream, (FILE * stream), (stream))
READ_CHARACTER(fgetc_unlocked, stream, (FILE * stream), (stream))
READ_CHARACTER(getc_unlocked, stream, (FILE * stream), (stream))
READ_CHARACTER(getchar, stdin, (void), ())
READ_CHARACTER(getchar_unlocked, stdin, (void), ())
READ_CHARACTER(__uflow, stream, (FILE * stream), (stream)) /* called by macros, when the buffer is empty */

/* `bytes`: to write; 0: few. `expected`: whether the buffer is too full. `given`: the bytes that the program passed,
 * computed from `result`. */
#define STREAM_WRITE(type, name, stream, declared, arguments, bytes, expected, given, failed)                          \
    extern type name declared;                                                                                         \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT type name declared                                                                                          \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        int64_t before = pending(stream);                                                                              \
        begin_stream(&call, OP_STREAM_WRITE, bytes, expected);                                                         \
        type result = NEXT(name) arguments;                                                                            \
        end_stream(&call, OP_STREAM_WRITE, stream, (given) + before - pending(stream), failed);                        \
        return result;                                                                                                 \
    }

#define WRITE_ITEMS(name)                                                                                              \
    STREAM_WRITE(size_t, name, stream, (const void *restrict from, size_t size, size_t count, FILE *restrict stream),  \
                 (from, size, count, stream), (size_t)BYTES(count), BYTES(count) >= room(stream), BYTES(result),       \
                 result < count && size > 0)
WRITE_ITEMS(fwrite)
WRITE_ITEMS(fwrite_unlocked)

#define WRITE_STRING(name)                                                                                             \
    STREAM_WRITE(int, name, stream, (const char *restrict text, FILE *restrict stream), (text, stream), 0,             \
                 room(stream) < SHORT_TEXT, result < 0 ? 0 : (int64_t)strlen(text), result < 0)
WRITE_STRING(fputs)
WRITE_STRING(fputs_unlocked)
STREAM_WRITE(int, puts, stdout, (const char *text), (text), 0, room(stdout) < SHORT_TEXT,
             result < 0 ? 0 : 1 + (int64_t)strlen(text), result < 0)

#define WRITE_FORMATTED(name, stream, declared, arguments)                                                             \
    STREAM_WRITE(int, name, stream, declared, arguments, 0, room(stream) < SHORT_TEXT, result < 0 ? 0 : result,        \
                 result < 0)
WRITE_FORMATTED(vfprintf, stream, (FILE *restrict stream, const char *restrict format, va_list words),
                (stream, format, words))
WRITE_FORMATTED(__vfprintf_chk, stream, (FILE *restrict stream, int flag, const char *restrict format, va_list words),
                (stream, flag, format, words))
WRITE_FORMATTED(vprintf, stdout, (const char *restrict format, va_list words), (format, words))
WRITE_FORMATTED(__vprintf_chk, stdout, (int flag, const char *restrict format, va_list words), (flag, format, words))

#define WRITE_CHARACTER(name, stream, declared, arguments)                                                             \
    extern int name declared;                                                                                          \
    DECLARE_NEXT(name);                                                                                                \
    DECLARE_HOT(name, declared, arguments)                                                                             \
    static __attribute__((noinline, cold)) int name##_to_file declared                                                 \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        int64_t before = pending(stream);                                                                              \
        begin_stream(&call, OP_STREAM_WRITE, 0, true);                                                                 \
        int result = NEXT(name) arguments;                                                                             \
        end_stream(&call, OP_STREAM_WRITE, stream, (result != EOF) + before - pending(stream), result == EOF);         \
        return result;                                                                                                 \
    }                                                                                                                  \
    EXPORT int name declared                                                                                           \
    {                                                                                                                  \
        return has_room(stream) ? HOT(name) arguments : name##_to_file arguments;                                      \
    }

WRITE_CHARACTER(fputc, stream, (int character, FILE *stream), (character, stream))
WRITE_CHARACTER(putc, stream, (int character, FILE *stream), (character, stream))
WRITE_CHARACTER(_IO_putc, stream, (int character, FILE *stream), (character, stream))
WRITE_CHARACTER(fputc_unlocked, stream, (int character, FILE *stream), (character, stream))
WRITE_CHARACTER(putc_unlocked, stream, (int character, FILE *stream), (character, stream))
WRITE_CHARACTER(putchar, stdout, (int character), (character))
WRITE_CHARACTER(putchar_unlocked, stdout, (int character), (character))
WRITE_CHARACTER(__overflow, stream, (FILE * stream, int character), (stream, character)) /* called by macros */

/* Calls with a variable number of arguments are forwarded to the forms that take a va_list. */
#define VARIADIC(type, name, last, declared, real)                                                                     \
    extern type name declared;                                                                                         \
    EXPORT type name declared                                                                                          \
    {                                                                                                                  \
        va_list words;                                                                                                 \
        va_start(words, last);                                                                                         \
        type result = (real);                                                                                          \
        va_end(words);                                                                                                 \
        return result;                                                                                                 \
    }

VARIADIC(int, fprintf, format, (FILE *restrict stream, const char *restrict format, ...),
         vfprintf(stream, format, words))
VARIADIC(int, printf, format, (const char *restrict format, ...), vprintf(format, words))
VARIADIC(int, __fprintf_chk, format, (FILE * stream, int flag, const char *format, ...),
         __vfprintf_chk(stream, flag, format, words))
VARIADIC(int, __printf_chk, format, (int flag, const char *format, ...), __vprintf_chk(flag, format, words))

/* Calls that write to the descriptor itself. */
#define WRITE_TO_DESCRIPTOR(name, declared, arguments)                                                                 \
    extern int name declared;                                                                                          \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT int name declared                                                                                           \
    {                                                                                                                  \
        TRANSFER(int, OP_WRITE, fd, 0, NEXT(name) arguments);                                                          \
    }
WRITE_TO_DESCRIPTOR(vdprintf, (int fd, const char *restrict format, va_list words), (fd, format, words))
WRITE_TO_DESCRIPTOR(__vdprintf_chk, (int fd, int flag, const char *restrict format, va_list words),
                    (fd, flag, format, words))
VARIADIC(int, dprintf, format, (int fd, const char *restrict format, ...), vdprintf(fd, format, words))
VARIADIC(int, __dprintf_chk, format, (int fd, int flag, const char *format, ...),
         __vdprintf_chk(fd, flag, format, words))

/* scanf does not return the number of bytes it read. If it refilled the buffer, once, the buffer's content is that. */
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
        begin_stream(&call, OP_STREAM_READ, 0, unread(stream) < SHORT_TEXT);                                           \
        int result = NEXT(name) arguments;                                                                             \
        end_stream(&call, OP_STREAM_READ, stream, fetched(before, stream), false);                                     \
        return result;                                                                                                 \
    }

/* The names that compilers use, by version of the C standard; those from before C99 are not wrapped. */
#define SCANS(standard)                                                                                                \
    SCAN(__##standard##_vfscanf, stream, (FILE * stream, const char *format, va_list words), (stream, format, words))  \
    SCAN(__##standard##_vscanf, stdin, (const char *format, va_list words), (format, words))                           \
    VARIADIC(int, __##standard##_fscanf, format, (FILE * stream, const char *format, ...),                             \
             __##standard##_vfscanf(stream, format, words))                                                            \
    VARIADIC(int, __##standard##_scanf, format, (const char *format, ...), __##standard##_vscanf(format, words))
SCANS(isoc99)
SCANS(isoc23) /* glibc 2.38 */

/* Calls that write the pending data. */
#define STREAM_FLUSH(name, declared, arguments)                                                                        \
    STREAM_WRITE(int, name, stream, declared, arguments, 0, before > 0, 0, result < 0)
STREAM_FLUSH(fseek, (FILE * stream, long offset, int whence), (stream, offset, whence))
STREAM_FLUSH(fseeko, (FILE * stream, off_t offset, int whence), (stream, offset, whence))
STREAM_FLUSH(fseeko64, (FILE * stream, off64_t offset, int whence), (stream, offset, whence))

DECLARE_NEXT(rewind);
EXPORT void rewind(FILE *stream)
{
    struct io_call call;
    int64_t before = pending(stream);
    begin_stream(&call, OP_STREAM_WRITE, 0, before > 0);
    NEXT(rewind)(stream);
    end_stream(&call, OP_STREAM_WRITE, stream, before - pending(stream), false);
}

/* Opening and closing streams. libc's own system call is not wrapped, so forget the descriptor's former file. */
static FILE *end_open(const struct io_call *call, const char *path, FILE *stream)
{
    if (call->thread != NULL) {
        if (stream != NULL)
            descriptor_opened(stream->_fileno, path);
        io_end(call, OP_OPEN, FILE_NONE, stream == NULL ? -1 : 0);
    }
    return stream;
}

#define STREAM_OPEN(name, path, declared, arguments)                                                                   \
    extern FILE *name declared;                                                                                        \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT FILE *name declared                                                                                         \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        io_begin(&call, OP_OPEN, 0, false);                                                                            \
        return end_open(&call, path, NEXT(name) arguments);                                                            \
    }

STREAM_OPEN(fopen, path, (const char *restrict path, const char *restrict mode), (path, mode))
STREAM_OPEN(fopen64, path, (const char *restrict path, const char *restrict mode), (path, mode))
STREAM_OPEN(freopen, path, (const char *restrict path, const char *restrict mode, FILE *restrict stream),
            (path, mode, stream))
STREAM_OPEN(freopen64, path, (const char *restrict path, const char *restrict mode, FILE *restrict stream),
            (path, mode, stream))
STREAM_OPEN(popen, NULL, (const char *command, const char *mode), (command, mode))

/* Closing writes the pending data, and invalidates the stream. */
#define STREAM_CLOSE(name)                                                                                             \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT int name(FILE *stream)                                                                                      \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        io_begin(&call, OP_CLOSE, 0, true);                                                                            \
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
STREAM_CLOSE(fclose)
STREAM_CLOSE(pclose)

DECLARE_NEXT(fflush);
EXPORT int fflush(FILE *stream)
{
    struct io_call call;
    int64_t before = stream != NULL ? pending(stream) : 0;
    io_begin(&call, OP_FLUSH, 0, false);
    int result = NEXT(fflush)(stream);
    if (stream == NULL)
        io_end(&call, OP_FLUSH, FILE_NONE, result < 0 ? -1 : 0);
    else if (before > 0)
        end_stream(&call, OP_STREAM_WRITE, stream, before - pending(stream), result < 0);
    return result;
}

/* Wrappers of the exec family. A program that executes another one does not pass exit, so its data is written before.
 * Every function here is async-signal-safe as long as libc's is (libc guarantees it for some only). */
#define _GNU_SOURCE
#include <alloca.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "collector.h"
#include "next.h"

DECLARE_NEXT(execv);
DECLARE_NEXT(execve);
DECLARE_NEXT(execvp);
DECLARE_NEXT(execvpe);
DECLARE_NEXT(fexecve);
DECLARE_NEXT(execveat);

/* `call` returns only if it fails. */
#define BECOME(file, envp, call)                                                                                       \
    do {                                                                                                               \
        collector_before_exec(file, envp);                                                                             \
        int result = (call);                                                                                           \
        collector_after_exec();                                                                                        \
        return result;                                                                                                 \
    } while (0)

EXPORT int execv(const char *path, char *const argv[])
{
    BECOME(path, environ, NEXT(execv)(path, argv));
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    BECOME(path, envp, NEXT(execve)(path, argv, envp));
}

EXPORT int execvp(const char *file, char *const argv[])
{
    BECOME(file, environ, NEXT(execvp)(file, argv));
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    BECOME(file, envp, NEXT(execvpe)(file, argv, envp));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    BECOME(NULL, envp, NEXT(fexecve)(fd, argv, envp));
}

EXPORT int execveat(int directory, const char *path, char *const argv[], char *const envp[], int flags)
{
    BECOME(directory == AT_FDCWD ? path : NULL, envp, NEXT(execveat)(directory, path, argv, envp, flags));
}

/* Make `argv` of the words from `first` up to the null pointer, which it holds too. */
#define COLLECT_WORDS(words, argv, first)                                                                              \
    do {                                                                                                               \
        va_list counted;                                                                                               \
        size_t count = 1;                                                                                              \
        va_start(words, first);                                                                                        \
        va_copy(counted, words);                                                                                       \
        while (va_arg(counted, char *) != NULL)                                                                        \
            count++;                                                                                                   \
        va_end(counted);                                                                                               \
        (argv) = alloca((count + 1) * sizeof *(argv));                                                                 \
        (argv)[0] = (char *)(first);                                                                                   \
        for (size_t i = 1; i <= count; i++)                                                                            \
            (argv)[i] = va_arg(words, char *);                                                                         \
    } while (0)

EXPORT int execl(const char *path, const char *first, ...)
{
    va_list words;
    char **argv;
    COLLECT_WORDS(words, argv, first);
    va_end(words);
    return execv(path, argv);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    va_list words;
    char **argv;
    COLLECT_WORDS(words, argv, first);
    va_end(words);
    return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *first, ...)
{
    va_list words;
    char **argv;
    COLLECT_WORDS(words, argv, first);
    char *const *envp = va_arg(words, char *const *);
    va_end(words);
    return execve(path, argv, envp);
}

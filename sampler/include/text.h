/* Numbers in the texts of /proc. All async-signal-safe and thread-safe; none reads behind the text's end. */
#ifndef SAMPLER_TEXT_H
#define SAMPLER_TEXT_H

#include <stdint.h>
#include <sys/types.h>

/* The whole file from its start, as a text. Its length or negative errno. */
long text_read(int fd, char *into, size_t size);

/* The same of a file that is a list, of which the kernel gives no more than a page at a time. */
long text_read_all(int fd, char *into, size_t size);

/* Opens below `directory` (or AT_FDCWD) to be read. Descriptor or negative errno. */
int text_open(int directory, const char *path);

/* The number there, after blanks; 0 without one. */
uint64_t text_number(const char *text);

/* The start of word `n` from 0, or the text's end. */
const char *text_word(const char *text, int n);

/* What follows the words of a process's stat up to its state, which is word 0 then; names may hold anything. */
const char *text_state(const char *stat);

/* The number after "key:" or "key ", or 0. */
uint64_t text_value(const char *text, const char *key);

#endif

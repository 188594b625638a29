/* Reads jitdump files, each in two looks, and prints the lines that the recording would have. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "jit_names.h"
#include "log.h"
#include "output.h"

bool log_warn(const char *what, const char *detail)
{
    printf("! %s: %s\n", what, strrchr(detail, '/'));
    return true;
}

long output_append(struct output *output, const struct buffer *data)
{
    (void)output;
    return fwrite(data->data, 1, data->length, stdout) == data->length ? 0 : -1;
}

void output_name(char *path, const char *directory, const char *name, const char *suffix)
{
    snprintf(path, PATH_MAX, "%s/%s%s", directory, name, suffix);
}

int main(int count, char **words)
{
    const struct jit_process process = {.owner = geteuid()};
    for (int i = 2; i < count; i++) {
        struct jit_file file = {0};
        struct jit_lines lines = {.directory = words[1], .name = "names"};
        for (int look = 0; look < 2; look++)
            jit_dump_read(&file, &process, words[i], &lines, 77);
        jit_lines_write(&lines);
        printf("read %llu\n", (unsigned long long)file.read);
    }
    return 0;
}

/* Prints the name of the program at argv[1] that was started with the words behind it. */
#include <stdio.h>
#include <string.h>

#include "launch.h"

int main(int argc, char **argv)
{
    char name[256], words[4096];
    size_t bytes = 0;
    for (int i = 2; i < argc; bytes += strlen(argv[i++]) + 1)
        strcpy(words + bytes, argv[i]);
    program_name(name, sizeof name, argv[1], words, bytes);
    puts(name);
}

/* What a process can end with, by its first argument: a word, or a signal's number. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words)
{
    const char *word = count > 1 ? words[1] : "";
    puts("before");
    fflush(stdout);
    if (strcmp(word, "read") == 0)
        return *(volatile int *)0;
    if (strcmp(word, "abort") == 0)
        abort();
    while (strcmp(word, "pipe") == 0)
        if (write(1, word, 4) < 0)
            return 9;
    if (strcmp(word, "alarm") == 0)
        return alarm(1), pause();
    if (strcmp(word, "free") == 0) {
        char *volatile freed = malloc(9);
        free(freed);
        return freed[0] & 0;
    }
    return kill(getpid(), atoi(word)), 4;
}

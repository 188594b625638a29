/* Works, and closes its stderr: "last", as its last act (coreutils, xz); "early", and goes on until stdin ends. */
#include "host.h"

#include <string.h>

static void close_stderr(void)
{
    fclose(stderr);
}

int main(int argc, char **argv)
{
    int early = argc > 1 && strcmp(argv[1], "early") == 0;
    if (early)
        close_stderr();
    else
        atexit(close_stderr);
    work(500);
    burn(40);
    while (early && getchar() != EOF)
        ;
    return 3;
}

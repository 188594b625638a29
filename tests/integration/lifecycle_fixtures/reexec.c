/* Becomes itself argv[1] times, with 100 calls and 60 ms (5 ms with BRIEF set) in each life; tries an exec that fails
 * before each. */
#include "host.h"

#include "held.h"

int main(int argc, char **argv)
{
    char left[16];
    int count = argc > 1 ? atoi(argv[1]) : 0;
    work(100);
    burn_until_held();
    burn(getenv("BRIEF") != NULL ? 5 : 60);
    execl("/nonexistent/program", "program", (char *)NULL);
    work(11);
    burn(getenv("BRIEF") != NULL ? 1 : 20);
    if (count == 0) {
        puts("last life");
        return 9;
    }
    snprintf(left, sizeof left, "%d", count - 1);
    execl(argv[0], argv[0], left, (char *)NULL);
    return 1;
}

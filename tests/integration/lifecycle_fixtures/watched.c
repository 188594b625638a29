/* Passes a tool that watches sigaction and _exit. */
#include "host.h"

int main(void)
{
    struct sigaction action = {.sa_handler = SIG_IGN};
    work(77);
    burn(80);
    sigaction(SIGUSR1, &action, NULL);
    _exit(3);
}

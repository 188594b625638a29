/* moncontrol and monstartup: 100 calls count, 1000 and their 120 ms do not, 10 count again. */
#include "host.h"

#include <sys/gmon.h>

/* No header has it. */
int moncontrol(int mode);

__attribute__((noinline)) void hidden(int milliseconds)
{
    burn(milliseconds);
}

int main(void)
{
    work(100);
    burn(60);
    moncontrol(0);
    work(1000);
    hidden(120);
    moncontrol(1);
    work(10);
    monstartup(0x1000, 0x2000);
    work(1);
    burn(60);
    return getpid() > 0 ? 0 : 1;
}

#include <stdio.h>

int main(void)
{
    return puts("t") < 0;
}

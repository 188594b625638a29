/* Three functions one after the other, 300 ms each, with known calls: alpha 10, beta 20, gamma 30. */
#include "host.h"

__attribute__((noinline)) void alpha(void)
{
    burn(30);
}

__attribute__((noinline)) void beta(void)
{
    burn(15);
}

__attribute__((noinline)) void gamma_(void)
{
    burn(10);
}

int main(void)
{
    for (int i = 0; i < 10; i++)
        alpha();
    for (int i = 0; i < 20; i++)
        beta();
    for (int i = 0; i < 30; i++)
        gamma_();
    work(70000);
    return 0;
}

// One function in two versions, of which the loader takes one before the program starts.
#include <cstdio>

__attribute__((target("avx2"), noinline)) int version() { return 2; }
__attribute__((target("default"), noinline)) int version() { return 2; }

int main()
{
    std::printf("%d\n", version());
}

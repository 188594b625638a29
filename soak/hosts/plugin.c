/* A library that programs load and unload. */
__attribute__((noinline)) static long plugin_step(long x)
{
    return x + 1;
}

long plugin_work(long count)
{
    long x = 0;
    while (x < count)
        x = plugin_step(x);
    return x;
}

/* Detection of vector instructions, for code compiled by clang for several processors. clang's run-time has this, but
 * ziglang's, with which the wheel is built, reports none for every processor.
 *
 * Called by the loader, before the library is relocated: libc must not be used. Thread-safe. */
#include <cpuid.h>
#include <stdint.h>

enum { AVX2 = 1 << 10, AVX512F = 1 << 15 }; /* the compilers' numbering */
enum { YMM_STATE = 6, ZMM_STATE = 0xe6 };   /* registers that the kernel saves */

/* The name and the layout are those of GCC's and clang's run-times. */
__attribute__((visibility("hidden"))) struct {
    unsigned int vendor, type, subtype, features[1];
} __cpu_model;

__attribute__((visibility("hidden"))) int __cpu_indicator_init(void);

static uint32_t kept_by_the_kernel(void)
{
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

int __cpu_indicator_init(void)
{
    unsigned int a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0)
        return 0;
    uint32_t kept = kept_by_the_kernel();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 0;
    if ((kept & YMM_STATE) == YMM_STATE && (b & bit_AVX2) != 0)
        __cpu_model.features[0] |= AVX2;
    if ((kept & ZMM_STATE) == ZMM_STATE && (b & bit_AVX512F) != 0)
        __cpu_model.features[0] |= AVX512F;
    return 0;
}

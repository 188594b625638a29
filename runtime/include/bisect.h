/* Binary search. Pure. */
#ifndef RUNTIME_BISECT_H
#define RUNTIME_BISECT_H

#include <stddef.h>

/* Return the number of leading items for which the condition holds, of `count` items; it holds for none behind the
 * first for which it does not. `at` is the item's index in the condition. */
#define COUNT_LEADING(count, at, condition)                                                                            \
    __extension__({                                                                                                    \
        size_t from_ = 0, to_ = (count);                                                                               \
        while (from_ < to_) {                                                                                          \
            size_t at = (from_ + to_) / 2;                                                                             \
            if (condition)                                                                                             \
                from_ = at + 1;                                                                                        \
            else                                                                                                       \
                to_ = at;                                                                                              \
        }                                                                                                              \
        from_;                                                                                                         \
    })

#endif

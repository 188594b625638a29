/* Both tables of MPI functions, row by row: the including file defines CALL_(name, lower-case name, kind, ...). The
 * large-count versions of MPI-4 use the same rows, with MPI_Count instead of int. IF_FOUR(...) marks functions of MPI-4
 * only. */
#ifndef IF_FOUR
#define IF_FOUR(...) __VA_ARGS__
#endif
#define CALL(...) CALL_(__VA_ARGS__)
#include "calls.h"
#define COUNT int
#define DISPLACEMENT int
#define C(name) name
#include "counted_calls.h"
#undef COUNT
#undef DISPLACEMENT
#undef C
#ifndef NO_LARGE_COUNTS
#define COUNT MPI_Count
#define DISPLACEMENT MPI_Aint
#define C(name) name##_c
#include "counted_calls.h"
#undef COUNT
#undef DISPLACEMENT
#undef C
#endif
#undef CALL
#undef CALL_

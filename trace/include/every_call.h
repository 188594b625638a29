/* Both tables of MPI functions, row by row: CALL_(name, lower-case name, kind, ...) is the reader's. The large-count
 * twins of MPI-4 come with the same rows: MPI_Count instead of int. IF_FOUR(...) is what only MPI-4 has. */
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

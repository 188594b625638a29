/* Definitions shared by all parts of libincprof_native. */
#ifndef INCPROF_NATIVE_H
#define INCPROF_NATIVE_H

/* Exported; everything else stays inside the library. */
#define NATIVE_API __attribute__((visibility("default")))

#endif

/* What every part of libincprof_native shares. */
#ifndef INCPROF_NATIVE_H
#define INCPROF_NATIVE_H

/* Exported; everything else stays inside the library. */
#define NATIVE_API __attribute__((visibility("default")))

#endif

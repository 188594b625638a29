/* A program or library that the loader has put into the process. */
#ifndef SELFANALYZE_OBJECT_H
#define SELFANALYZE_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct object {
    const char *path; /* the loader's own text: empty for the program; valid while the object is loaded */
    uint64_t base;    /* what was added to the link-time addresses */
    uint64_t start, end;
    const ElfW(Phdr) * segments;
    int count;
};

/* The object that `address` lies in; false where no file holds it. Takes the loader's lock for the list of objects. */
bool object_at(uint64_t address, struct object *object);

#endif

/* When what was found out about loaded code stops being true: a library that is closed leaves its addresses to others.
 */
#ifndef SELFANALYZE_CLOSES_H
#define SELFANALYZE_CLOSES_H

#include <stdint.h>

/* A number that differs after each dlclose; 0 while one is under way: what is found out then must not be kept. What
 * was found out about code that is running is true for as long as the number stays. Without a system call or a lock. */
uint64_t closes_epoch(void);

/* dlclose for a handle of something that stays loaded: the number remains. */
int closes_nothing(void *handle);

#endif

/* The operator's switch: a file `control` in the run directory that holds `on` or `off`. */
#ifndef EKG_CONTROL_H
#define EKG_CONTROL_H

enum control { CONTROL_NONE, CONTROL_ON, CONTROL_OFF };

void control_start(const char *directory);

/* What the file says, if that is something else than the last time. For the interval thread. */
enum control control_look(void);

#endif

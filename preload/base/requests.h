/* What the interval thread can be asked for, one at a time (worker_ask, worker_nudge). */
#ifndef INCPROF_REQUESTS_H
#define INCPROF_REQUESTS_H

enum request {
    REQUEST_STOP = 1,
    REQUEST_LEAVE,   /* the same before the process ends: the line comes if there is anything to be found */
    REQUEST_CLOSE,   /* the same, without the line at its end */
    REQUEST_EXEC,    /* all that is known is written: the program may become another one */
    REQUEST_FLUSH,   /* the open interval is written */
    REQUEST_PARK,    /* the thread ends, and the recording does not */
    REQUEST_PAUSE,   /* samples and calls do not count (moncontrol) */
    REQUEST_RESUME,  /* they do */
    REQUEST_SCAN,    /* a path ended in unknown code: look for new modules */
    REQUEST_DRAIN,   /* a ring is half full: empty it before its turn */
    REQUEST_LOOK_UP, /* libraries have come, and one may go */
    REQUEST_REMAP,   /* libraries have gone */
    REQUEST_TICKERS  /* some thread wants a ticker of the interval thread */
};

#endif

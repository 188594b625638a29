/* Requests to the interval thread, one at a time (worker_request, worker_notify). */
#ifndef INCPROF_REQUESTS_H
#define INCPROF_REQUESTS_H

enum request {
    REQUEST_STOP = 1,
    REQUEST_LEAVE,   /* the same before the process ends: the closing line appears if there is any data */
    REQUEST_CLOSE,   /* the same, without the line at its end */
    REQUEST_EXEC,    /* write all data: the program may execute another one */
    REQUEST_FLUSH,   /* write the open interval */
    REQUEST_PARK,    /* end the thread but not the recording */
    REQUEST_PAUSE,   /* stop counting samples and calls (moncontrol) */
    REQUEST_RESUME,  /* they do */
    REQUEST_SCAN,    /* a path ended in unknown code: scan for new modules */
    REQUEST_DRAIN,   /* a ring is half full: drain it early */
    REQUEST_LOOK_UP, /* libraries were loaded, and one may be unloaded */
    REQUEST_REMAP,   /* libraries were unloaded */
    REQUEST_TICKERS  /* a thread needs a ticker from the interval thread */
};

#endif

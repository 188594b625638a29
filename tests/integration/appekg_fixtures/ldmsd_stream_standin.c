/* A stand-in for libldmsd_stream, over that for libldms. */
#include <stddef.h>

struct ldms_xprt;
int ldms_standin_publish(struct ldms_xprt *x, const char *name, int type, const char *data, size_t length);

int ldmsd_stream_publish(struct ldms_xprt *xprt, const char *stream_name, int stream_type, const char *data,
                         size_t data_len)
{
    return ldms_standin_publish(xprt, stream_name, stream_type, data, data_len);
}

/* What is used of LDMS: names and signatures of libldms and libldmsd_stream, which are loaded at run time.
 *
 * There are three generations. 4.5 and later publish by ldms_msg_publish; 4.4 by ldms_stream_publish, with the same
 * signature; before, ldmsd_stream_publish of another library did it, and ldms_xprt_new_with_auth took a function for
 * log messages as its second argument. */
#ifndef EKG_LDMS_API_H
#define EKG_LDMS_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LDMS_JSON 1               /* LDMS_MSG_JSON, LDMS_STREAM_JSON and LDMSD_STREAM_JSON */
#define LDMS_READABLE_BY_ALL 0444 /* mode of the message, for the first two generations */

/* enum ldms_xprt_event_type, as far as all generations agree. */
enum ldms_event_type { LDMS_CONNECTED, LDMS_REJECTED, LDMS_ERROR, LDMS_DISCONNECTED };

struct ldms_transport;   /* struct ldms_xprt */
struct ldms_options;     /* struct attr_value_list */
struct ldms_credentials; /* struct ldms_cred */

struct ldms_event { /* the beginning of struct ldms_xprt_event */
    int type;
};

typedef void ldms_event_function(struct ldms_transport *transport, struct ldms_event *event, void *argument);

struct ldms_api {
    struct ldms_transport *(*create)(const char *transport, const char *authentication, struct ldms_options *options);
    struct ldms_transport *(*create_with_log)(const char *transport, void (*log)(const char *format, ...),
                                              const char *authentication, struct ldms_options *options);
    int (*connect)(struct ldms_transport *transport, const char *host, const char *port, ldms_event_function *function,
                   void *argument);
    int (*publish_message)(struct ldms_transport *transport, const char *name, int type,
                           struct ldms_credentials *credentials, uint32_t mode, const char *data, size_t length);
    int (*publish_stream)(struct ldms_transport *transport, const char *name, int type, const char *data,
                          size_t length);
    void (*close)(struct ldms_transport *transport);
    void (*put)(struct ldms_transport *transport, const char *reference); /* before 4.4, without the second argument */
};

/* Loads the libraries. False after one line on stderr. In an application's thread. */
bool ldms_load(struct ldms_api *api);

/* Both whatever the generation. They may block for as long as LDMS likes. */
struct ldms_transport *ldms_create(const struct ldms_api *api, const char *transport, const char *authentication);
int ldms_publish(const struct ldms_api *api, struct ldms_transport *transport, const char *name, const char *json,
                 size_t length);

#endif

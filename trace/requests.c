/* Thread safety: everything is guarded by the lock of coding.h.
 *
 * Handles are not unique: MPICH gives the same one to all requests that completed immediately. The requests of a handle
 * are kept in creation order. */
#define _GNU_SOURCE
#include "event.h"

#include "coding.h"
#include "lane.h"
#include "sys.h"

#define BUCKETS 16384u
#define CHUNK 4096u

struct request {
    uint64_t handle;
    struct request *below;  /* next in its bucket, which holds only the first request of each handle */
    struct request *after;  /* of the same handle */
    struct request *newest; /* of the same handle: kept in the first */
    uint32_t lane;
    uint32_t template_id; /* of a persistent request, or 0 */
    bool receives, is_active;
    uint64_t number;
    uint32_t object;
    int rank, size;
};

static struct request *buckets[BUCKETS];
static struct request *unused;
static uint32_t *free_templates; /* numbers of freed persistent requests */
static uint32_t free_count, free_room, templates;

static struct request **bucket_of(uint64_t handle)
{
    return &buckets[(handle * 0x9e3779b97f4a7c15u >> 40) % BUCKETS];
}

static struct request **find(uint64_t handle)
{
    struct request **link = bucket_of(handle);
    while (*link != NULL && (*link)->handle != handle)
        link = &(*link)->below;
    return link;
}

static struct request *make(void)
{
    if (unused == NULL) {
        struct request *chunk = sys_alloc(CHUNK * sizeof *chunk);
        for (uint32_t i = 0; chunk != NULL && i < CHUNK; i++) {
            chunk[i].below = unused;
            unused = &chunk[i];
        }
    }
    struct request *request = unused;
    if (request != NULL)
        unused = request->below;
    return request;
}

static struct request *add(const struct event *event, uint64_t handle, bool receives)
{
    struct request *request = make();
    if (request == NULL)
        return NULL;
    *request = (struct request){.handle = handle, .receives = receives};
    request->object = event->fields & HAS_OBJECT ? event->object : 0;
    request->rank = event->rank;
    request->size = event->size;
    request->newest = request;
    struct request **link = find(handle);
    if (*link != NULL) {
        (*link)->newest->after = request;
        (*link)->newest = request;
    } else {
        *link = request;
    }
    return request;
}

static void drop(struct request *request)
{
    request->below = unused;
    unused = request;
}

/* Remove one of the requests of a handle; `link` points to the first of them. */
static void take_out(struct request **link, struct request *request)
{
    struct request *first = *link;
    if (request != first) {
        struct request *before = first;
        while (before->after != request)
            before = before->after;
        before->after = request->after;
        if (first->newest == request)
            first->newest = before;
    } else if (first->after != NULL) {
        first->after->below = first->below;
        first->after->newest = first->newest;
        *link = first->after;
    } else {
        *link = first->below;
    }
    drop(request);
}

/* Return the oldest request of a handle created by this thread, or else by any: MPI may have reused the handle for
 * another, faster thread before this one recorded the completion of its own request. */
static struct request *own_one(struct request *first)
{
    uint32_t lane = lane_of_thread()->number;
    struct request *request = first;
    while (request != NULL && (request->lane != lane || !request->is_active))
        request = request->after;
    return request != NULL ? request : first;
}

static void put_pending(struct event *event, struct request *request)
{
    struct lane *lane = lane_of_thread();
    request->is_active = true;
    request->lane = lane->number;
    request->number = lane->made++;
    event->made++;
    event->fields |= HAS_MADE;
}

void incprof_mpi_request(struct event *event, uint64_t handle, bool receives)
{
    if (event->is_silent)
        return;
    tables_lock();
    struct request *request = add(event, handle, receives);
    if (request != NULL)
        put_pending(event, request);
    tables_unlock();
}

static uint32_t acquire_template(void)
{
    return free_count > 0 ? free_templates[--free_count] : ++templates;
}

static void release_template(uint32_t number)
{
    if (free_count == free_room) {
        uint32_t room = free_room > 0 ? 2 * free_room : 1024;
        uint32_t *more = sys_alloc(room * sizeof *more);
        if (more == NULL)
            return;
        for (uint32_t i = 0; i < free_count; i++)
            more[i] = free_templates[i];
        sys_free(free_templates, free_room * sizeof *more);
        free_templates = more;
        free_room = room;
    }
    free_templates[free_count++] = number;
}

/* A request created while tracing is off has no number for a reader: neither this call nor its starts are recorded. */
void incprof_mpi_template(struct event *event, uint64_t handle, bool receives)
{
    if (event->is_silent)
        return;
    tables_lock();
    struct request *request = add(event, handle, receives);
    if (request != NULL) {
        request->template_id = acquire_template();
        event->template_id = request->template_id;
        event->fields |= HAS_TEMPLATE;
    }
    tables_unlock();
}

void incprof_mpi_start(struct event *event, uint64_t handle)
{
    if (event->is_silent)
        return;
    tables_lock();
    struct request *request = *find(handle);
    struct lane *lane = lane_of_thread();
    if (request != NULL && request->template_id != 0 && buffer_reserve(&lane->started, sizeof(uint32_t))) {
        put_pending(event, request);
        buffer_u32(&lane->started, request->template_id);
        event->started = (uint32_t *)(void *)lane->started.data;
        event->started_count++;
        event->fields |= HAS_STARTED;
    }
    tables_unlock();
}

static struct message *note(struct event *event, const struct request *request)
{
    struct lane *lane = lane_of_thread();
    struct completion completion = {
        .lane = request->lane,
        .number = request->number,
        .object = request->object,
        .rank = request->rank,
        .size = request->size,
    };
    bool has_message = request->receives && request->object != 0;
    completion.flags =
        (has_message ? COMPLETION_MESSAGE : 0u) | (request->lane != lane->number ? COMPLETION_OTHER_LANE : 0u);
    completion.message.peer = completion.message.tag = ANY;
    buffer_bytes(&lane->completed, &completion, sizeof completion);
    if (lane->completed.failed)
        return NULL;
    event->completed = (struct completion *)(void *)lane->completed.data;
    event->completed_count++;
    event->fields |= HAS_COMPLETED;
    return has_message ? &event->completed[event->completed_count - 1].message : NULL;
}

struct message *incprof_mpi_complete(struct event *event, uint64_t handle)
{
    struct message *message = NULL;
    tables_lock();
    struct request **link = find(handle);
    struct request *request = own_one(*link);
    if (request != NULL && request->is_active) {
        request->is_active = false;
        message = note(event, request);
        if (request->template_id == 0)
            take_out(link, request);
    }
    tables_unlock();
    return message;
}

void incprof_mpi_forget(uint64_t handle)
{
    tables_lock();
    struct request **link = find(handle);
    struct request *request = own_one(*link);
    if (request != NULL) {
        if (request->template_id != 0)
            release_template(request->template_id);
        take_out(link, request);
    }
    tables_unlock();
}

/* All MPI functions, row by row: CALL(name, lower-case name, kind, (parameters), (arguments), before, after), as in
 * counted_calls.h, which has those with counts. The including file defines CALL_ with these parameters. The large-count
 * versions of MPI-4 use the same rows, with MPI_Count instead of int. IF_FOUR(...) marks functions of MPI-4 only. */
#ifndef IF_FOUR
#define IF_FOUR(...) __VA_ARGS__
#endif
#define CALL(...) CALL_(__VA_ARGS__)

/* clang-format off */

CALL(Init, init, "init", (int *argc, char ***argv), (argc, argv), , started())
CALL(Init_thread, init_thread, "init", (int *argc, char ***argv, int required, int *provided),
     (argc, argv, required, provided), , started())
CALL(Finalize, finalize, "finalize", (void), (), incprof_mpi_finalizing(e); describe_no_more(), incprof_mpi_finalized(e))
CALL(Abort, abort, "abort", (MPI_Comm comm, int errorcode), (comm, errorcode), on(e, comm); value(e, errorcode);
     incprof_mpi_aborting(e), )

/* The arguments after the level are passed on unchanged, for a tool behind this one: all that can be in registers,
 * which named and unnamed parameters share, and two words of the stack, which always exist in the caller's frame. */
#define WORDS(type, name) type name##0, type name##1, type name##2, type name##3, type name##4
#define WORDS_GIVEN(name) name##0, name##1, name##2, name##3, name##4
CALL(Pcontrol, pcontrol, "control",
     (const int level, WORDS(long, w), IF_SEVEN(long w5, long w6, ) WORDS(double, d), double d5, double d6, double d7,
      long s0, long s1),
     (level, WORDS_GIVEN(w), IF_SEVEN(w5, w6, ) WORDS_GIVEN(d), d5, d6, d7, s0, s1), value(e, level);
     incprof_mpi_control(e, level), )
#undef WORDS
#undef WORDS_GIVEN

/* Probed messages, not received yet. */
CALL(Probe, probe, "probe", (int source, int tag, MPI_Comm comm, MPI_Status *status), (source, tag, comm, status),
     probe(e, source, tag, comm);
     OWN_STATUS(status), received(e, status))
CALL(Iprobe, iprobe, "probe", (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
     (source, tag, comm, flag, status), probe(e, source, tag, comm);
     OWN_STATUS(status), value(e, *flag); if (*flag) received(e, status))
CALL(Mprobe, mprobe, "probe", (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
     (source, tag, comm, message, status), probe(e, source, tag, comm);
     OWN_STATUS(status), received(e, status))
CALL(Improbe, improbe, "probe",
     (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
     (source, tag, comm, flag, message, status), probe(e, source, tag, comm);
     OWN_STATUS(status), value(e, *flag); if (*flag) received(e, status))

/* Requests. */
CALL(Start, start, "start", (MPI_Request * request), (request), start(e, 1, request), )
CALL(Startall, startall, "start", (int count, MPI_Request array_of_requests[]), (count, array_of_requests),
     start(e, count, array_of_requests), )
CALL(Wait, wait, "wait", (MPI_Request * request, MPI_Status *status), (request, status), hold(e, 1, request);
     OWN_STATUS(status), ended(e, 0, status))
CALL(Test, test, "test", (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status),
     hold(e, 1, request);
     OWN_STATUS(status), value(e, *flag); if (*flag) ended(e, 0, status))
CALL(Waitall, waitall, "wait", (int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses),
     (count, array_of_requests, array_of_statuses), hold(e, count, array_of_requests);
     OWN_STATUSES(count, array_of_statuses), all_ended(e, count, array_of_statuses))
CALL(Testall, testall, "test", (int count, MPI_Request array_of_requests[], int *flag, MPI_Status *array_of_statuses),
     (count, array_of_requests, flag, array_of_statuses), hold(e, count, array_of_requests);
     OWN_STATUSES(count, array_of_statuses), value(e, *flag); if (*flag) all_ended(e, count, array_of_statuses))
CALL(Waitany, waitany, "wait", (int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status),
     (count, array_of_requests, indx, status), hold(e, count, array_of_requests);
     OWN_STATUS(status), ended(e, *indx, status))
CALL(Testany, testany, "test", (int count, MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status *status),
     (count, array_of_requests, indx, flag, status), hold(e, count, array_of_requests);
     OWN_STATUS(status), value(e, *flag); if (*flag) ended(e, *indx, status))
CALL(Waitsome, waitsome, "wait",
     (int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
      MPI_Status *array_of_statuses),
     (incount, array_of_requests, outcount, array_of_indices, array_of_statuses), hold(e, incount, array_of_requests);
     OWN_STATUSES(incount, array_of_statuses), put_some_completed(e, *outcount, array_of_indices, array_of_statuses))
CALL(Testsome, testsome, "test",
     (int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
      MPI_Status *array_of_statuses),
     (incount, array_of_requests, outcount, array_of_indices, array_of_statuses), hold(e, incount, array_of_requests);
     OWN_STATUSES(incount, array_of_statuses), value(e, *outcount > 0);
     put_some_completed(e, *outcount, array_of_indices, array_of_statuses))
CALL(Request_free, request_free, "request", (MPI_Request * request), (request), forget(request), )
CALL(Cancel, cancel, "request", (MPI_Request * request), (request), , )
CALL(Request_get_status, request_get_status, "test", (MPI_Request request, int *flag, MPI_Status *status),
     (request, flag, status), , value(e, *flag))

/* Partitioned communication. */
IF_FOUR(CALL(Psend_init, psend_init, "persistent",
             (const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Info info, MPI_Request *request),
             (buf, partitions, count, datatype, dest, tag, comm, info, request),
             message(e, count *partitions, datatype, dest, tag, comm), make_template(e, request, false)))
IF_FOUR(CALL(Precv_init, precv_init, "persistent",
             (void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Info info, MPI_Request *request),
             (buf, partitions, count, datatype, source, tag, comm, info, request),
             message(e, count *partitions, datatype, source, tag, comm), make_template(e, request, false)))
IF_FOUR(CALL(Pready, pready, "partition", (int partition, MPI_Request request), (partition, request),
             value(e, partition), ))
IF_FOUR(CALL(Parrived, parrived, "partition", (MPI_Request request, int partition, int *flag),
             (request, partition, flag), , value(e, *flag)))

/* Collectives without data. */
CALL(Barrier, barrier, "collective", (MPI_Comm comm), (comm), on(e, comm), )
CALL(Ibarrier, ibarrier, "icollective", (MPI_Comm comm, MPI_Request *request), (comm, request), on(e, comm),
     put_pending(e, request, false))
IF_FOUR(CALL(Barrier_init, barrier_init, "persistent", (MPI_Comm comm, MPI_Info info, MPI_Request *request),
             (comm, info, request), on(e, comm), make_template(e, request, false)))

/* Communicators. */
CALL(Comm_dup, comm_dup, "comm", (MPI_Comm comm, MPI_Comm *newcomm), (comm, newcomm), on(e, comm), new_comm(e, newcomm))
CALL(Comm_dup_with_info, comm_dup_with_info, "comm", (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm),
     (comm, info, newcomm), on(e, comm), new_comm(e, newcomm))
CALL(Comm_idup, comm_idup, "comm", (MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request), (comm, newcomm, request),
     on(e, comm), put_pending(e, request, false))
CALL(Comm_create, comm_create, "comm", (MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm), (comm, group, newcomm),
     on(e, comm), new_comm(e, newcomm))
CALL(Comm_create_group, comm_create_group, "comm", (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm),
     (comm, group, tag, newcomm), on(e, comm), new_comm(e, newcomm))
CALL(Comm_split, comm_split, "comm", (MPI_Comm comm, int color, int key, MPI_Comm *newcomm),
     (comm, color, key, newcomm), on(e, comm), new_comm(e, newcomm))
CALL(Comm_split_type, comm_split_type, "comm",
     (MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm), (comm, split_type, key, info, newcomm),
     on(e, comm), new_comm(e, newcomm))
CALL(Comm_free, comm_free, "comm", (MPI_Comm * comm), (comm), on(e, *comm), )
CALL(Comm_disconnect, comm_disconnect, "comm", (MPI_Comm * comm), (comm), on(e, *comm), )
CALL(Intercomm_create, intercomm_create, "comm",
     (MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag, MPI_Comm *newintercomm),
     (local_comm, local_leader, peer_comm, remote_leader, tag, newintercomm), on(e, local_comm),
     new_comm(e, newintercomm))
CALL(Intercomm_merge, intercomm_merge, "comm", (MPI_Comm intercomm, int high, MPI_Comm *newintracomm),
     (intercomm, high, newintracomm), on(e, intercomm), new_comm(e, newintracomm))
CALL(Cart_create, cart_create, "comm",
     (MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *newcomm),
     (comm, ndims, dims, periods, reorder, newcomm), on(e, comm), new_comm(e, newcomm))
CALL(Cart_sub, cart_sub, "comm", (MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm),
     (comm, remain_dims, newcomm), on(e, comm), new_comm(e, newcomm))
CALL(Graph_create, graph_create, "comm",
     (MPI_Comm comm, int nnodes, const int indx[], const int edges[], int reorder, MPI_Comm *newcomm),
     (comm, nnodes, indx, edges, reorder, newcomm), on(e, comm), new_comm(e, newcomm))
CALL(Dist_graph_create, dist_graph_create, "comm",
     (MPI_Comm comm, int n, const int nodes[], const int degrees[], const int targets[], const int weights[],
      MPI_Info info, int reorder, MPI_Comm *newcomm),
     (comm, n, nodes, degrees, targets, weights, info, reorder, newcomm), on(e, comm), new_comm(e, newcomm))
CALL(Dist_graph_create_adjacent, dist_graph_create_adjacent, "comm",
     (MPI_Comm comm, int indegree, const int sources[], const int sourceweights[], int outdegree,
      const int destinations[], const int destweights[], MPI_Info info, int reorder, MPI_Comm *newcomm),
     (comm, indegree, sources, sourceweights, outdegree, destinations, destweights, info, reorder, newcomm),
     on(e, comm), new_comm(e, newcomm))
CALL(Comm_accept, comm_accept, "comm",
     (const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm),
     (port_name, info, root, comm, newcomm), on(e, comm), new_comm(e, newcomm))
CALL(Comm_connect, comm_connect, "comm",
     (const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm),
     (port_name, info, root, comm, newcomm), on(e, comm), new_comm(e, newcomm))
CALL(Comm_spawn, comm_spawn, "comm",
     (const char *command, char *argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *intercomm,
      int array_of_errcodes[]),
     (command, argv, maxprocs, info, root, comm, intercomm, array_of_errcodes), on(e, comm), new_comm(e, intercomm))
CALL(Comm_spawn_multiple, comm_spawn_multiple, "comm",
     (int count, char *array_of_commands[], char **array_of_argv[], const int array_of_maxprocs[],
      const MPI_Info array_of_info[], int root, MPI_Comm comm, MPI_Comm *intercomm, int array_of_errcodes[]),
     (count, array_of_commands, array_of_argv, array_of_maxprocs, array_of_info, root, comm, intercomm,
      array_of_errcodes),
     on(e, comm), new_comm(e, intercomm))

/* Windows. */
CALL(Win_create, win_create, "window",
     (void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),
     (base, size, disp_unit, info, comm, win), on(e, comm), new_win(e, win))
CALL(Win_allocate, win_allocate, "window",
     (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win),
     (size, disp_unit, info, comm, baseptr, win), on(e, comm), new_win(e, win))
CALL(Win_allocate_shared, win_allocate_shared, "window",
     (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win),
     (size, disp_unit, info, comm, baseptr, win), on(e, comm), new_win(e, win))
CALL(Win_create_dynamic, win_create_dynamic, "window", (MPI_Info info, MPI_Comm comm, MPI_Win *win), (info, comm, win),
     on(e, comm), new_win(e, win))
CALL(Win_free, win_free, "window", (MPI_Win * win), (win), in_window(e, *win), )
CALL(Win_fence, win_fence, "window", (int assert, MPI_Win win), (assert, win), in_window(e, win), )
CALL(Win_post, win_post, "window", (MPI_Group group, int assert, MPI_Win win), (group, assert, win),
     in_window(e, win), )
CALL(Win_start, win_start, "window", (MPI_Group group, int assert, MPI_Win win), (group, assert, win),
     in_window(e, win), )
CALL(Win_complete, win_complete, "window", (MPI_Win win), (win), in_window(e, win), )
CALL(Win_wait, win_wait, "window", (MPI_Win win), (win), in_window(e, win), )
CALL(Win_test, win_test, "window", (MPI_Win win, int *flag), (win, flag), in_window(e, win), value(e, *flag))
CALL(Win_lock, win_lock, "window", (int lock_type, int rank, int assert, MPI_Win win), (lock_type, rank, assert, win),
     in_window(e, win);
     peer(e, rank), )
CALL(Win_unlock, win_unlock, "window", (int rank, MPI_Win win), (rank, win), in_window(e, win); peer(e, rank), )
CALL(Win_lock_all, win_lock_all, "window", (int assert, MPI_Win win), (assert, win), in_window(e, win), )
CALL(Win_unlock_all, win_unlock_all, "window", (MPI_Win win), (win), in_window(e, win), )
CALL(Win_flush, win_flush, "window", (int rank, MPI_Win win), (rank, win), in_window(e, win); peer(e, rank), )
CALL(Win_flush_all, win_flush_all, "window", (MPI_Win win), (win), in_window(e, win), )
CALL(Win_flush_local, win_flush_local, "window", (int rank, MPI_Win win), (rank, win), in_window(e, win);
     peer(e, rank), )
CALL(Win_flush_local_all, win_flush_local_all, "window", (MPI_Win win), (win), in_window(e, win), )
CALL(Win_sync, win_sync, "window", (MPI_Win win), (win), in_window(e, win), )
CALL(Fetch_and_op, fetch_and_op, "rma",
     (const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
      MPI_Op op, MPI_Win win),
     (origin_addr, result_addr, datatype, target_rank, target_disp, op, win),
     at_target(e, 1, datatype, target_rank, win), )
CALL(Compare_and_swap, compare_and_swap, "rma",
     (const void *origin_addr, const void *compare_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
      MPI_Aint target_disp, MPI_Win win),
     (origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, win),
     at_target(e, 1, datatype, target_rank, win), )

/* Files. */
CALL(File_open, file_open, "file", (MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh),
     (comm, filename, amode, info, fh), on(e, comm), new_file(e, fh, filename))
CALL(File_close, file_close, "file", (MPI_File * fh), (fh), with_file(e, *fh); drop_file(fh), )
CALL(File_sync, file_sync, "file", (MPI_File fh), (fh), with_file(e, fh), )
CALL(File_set_size, file_set_size, "file", (MPI_File fh, MPI_Offset size), (fh, size), with_file(e, fh), )
CALL(File_preallocate, file_preallocate, "file", (MPI_File fh, MPI_Offset size), (fh, size), with_file(e, fh), )
CALL(File_set_view, file_set_view, "file",
     (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep, MPI_Info info),
     (fh, disp, etype, filetype, datarep, info), with_file(e, fh), )
#define END_IO(N, n, CONST)                                                                                            \
    CALL(N, n, "io", (MPI_File fh, CONST void *buf, MPI_Status *status), (fh, buf, status), with_file(e, fh), )
END_IO(File_read_all_end, file_read_all_end, )
END_IO(File_read_at_all_end, file_read_at_all_end, )
END_IO(File_read_ordered_end, file_read_ordered_end, )
END_IO(File_write_all_end, file_write_all_end, const)
END_IO(File_write_at_all_end, file_write_at_all_end, const)
END_IO(File_write_ordered_end, file_write_ordered_end, const)
#undef END_IO
/* clang-format on */

#define COUNT int
#define DISPLACEMENT int
#define C(name) name
#include "counted_calls.h"
#undef COUNT
#undef DISPLACEMENT
#undef C
#ifndef NO_LARGE_COUNTS
#define COUNT MPI_Count
#define DISPLACEMENT MPI_Aint
#define C(name) name##_c
#include "counted_calls.h"
#undef COUNT
#undef DISPLACEMENT
#undef C
#endif
#undef CALL
#undef CALL_

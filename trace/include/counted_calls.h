/* MPI functions that take counts: CALL(name, lower-case name, kind, (parameters), (arguments), before, after).
 *
 * Included twice, with COUNT, DISPLACEMENT and C() for the classic functions and for the large-count ones of MPI-4.
 * `before` and `after` are calls of functions in mpi/'s headers, with `e` as the event. Parameters have the standard's
 * names. */

/* clang-format off */

#define SEND(N, n)                                                                                                     \
    CALL(C(N), C(n), "send", (const void *buf, COUNT count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm),  \
         (buf, count, datatype, dest, tag, comm), message(e, count, datatype, dest, tag, comm), )
SEND(Send, send)
SEND(Bsend, bsend)
SEND(Ssend, ssend)
SEND(Rsend, rsend)
#undef SEND

#define ISEND(N, n)                                                                                                    \
    CALL(                                                                                                              \
        C(N), C(n), "isend",                                                                                           \
        (const void *buf, COUNT count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request), \
        (buf, count, datatype, dest, tag, comm, request), message(e, count, datatype, dest, tag, comm),                \
        put_pending(e, request, false))
ISEND(Isend, isend)
ISEND(Ibsend, ibsend)
ISEND(Issend, issend)
ISEND(Irsend, irsend)
#undef ISEND

#define SEND_INIT(N, n)                                                                                                \
    CALL(                                                                                                              \
        C(N), C(n), "persistent",                                                                                      \
        (const void *buf, COUNT count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request), \
        (buf, count, datatype, dest, tag, comm, request), message(e, count, datatype, dest, tag, comm),                \
        make_template(e, request, false))
SEND_INIT(Send_init, send_init)
SEND_INIT(Bsend_init, bsend_init)
SEND_INIT(Ssend_init, ssend_init)
SEND_INIT(Rsend_init, rsend_init)
#undef SEND_INIT

CALL(C(Recv), C(recv), "receive",
     (void *buf, COUNT count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status),
     (buf, count, datatype, source, tag, comm, status), message(e, count, datatype, source, tag, comm);
     OWN_STATUS(status), received(e, status))
CALL(C(Mrecv), C(mrecv), "receive",
     (void *buf, COUNT count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status),
     (buf, count, datatype, message, status), bytes(e, count, datatype);
     OWN_STATUS(status), received(e, status))
CALL(C(Irecv), C(irecv), "ireceive",
     (void *buf, COUNT count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request),
     (buf, count, datatype, source, tag, comm, request), message(e, count, datatype, source, tag, comm),
     put_pending(e, request, true))
CALL(C(Imrecv), C(imrecv), "ireceive",
     (void *buf, COUNT count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request),
     (buf, count, datatype, message, request), bytes(e, count, datatype), put_pending(e, request, true))
CALL(C(Recv_init), C(recv_init), "persistent",
     (void *buf, COUNT count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request),
     (buf, count, datatype, source, tag, comm, request), message(e, count, datatype, source, tag, comm),
     make_template(e, request, true))
CALL(C(Sendrecv), C(sendrecv), "sendrecv",
     (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
      COUNT recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status),
     (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status),
     message(e, sendcount, sendtype, dest, sendtag, comm);
     other_message(e, recvcount, recvtype, source, recvtag); OWN_STATUS(status), received(e, status))
CALL(C(Sendrecv_replace), C(sendrecv_replace), "sendrecv",
     (void *buf, COUNT count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
      MPI_Status *status),
     (buf, count, datatype, dest, sendtag, source, recvtag, comm, status),
     message(e, count, datatype, dest, sendtag, comm);
     other_message(e, count, datatype, source, recvtag); OWN_STATUS(status), received(e, status))

IF_FOUR(CALL(C(Isendrecv), C(isendrecv), "isendrecv",
             (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
              COUNT recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request *request),
             (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
              request),
             message(e, sendcount, sendtype, dest, sendtag, comm);
             other_message(e, recvcount, recvtype, source, recvtag), put_pending(e, request, true)))
IF_FOUR(CALL(C(Isendrecv_replace), C(isendrecv_replace), "isendrecv",
             (void *buf, COUNT count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
              MPI_Comm comm, MPI_Request *request),
             (buf, count, datatype, dest, sendtag, source, recvtag, comm, request),
             message(e, count, datatype, dest, sendtag, comm);
             other_message(e, count, datatype, source, recvtag), put_pending(e, request, true)))

/* Blocking, with a request, and persistent. */
#define ALL(...) __VA_ARGS__
#define COLLECTIVE(N, n, parameters, arguments, before)                                                                \
    CALL(C(N), C(n), "collective", (ALL parameters), (ALL arguments), before, )                                        \
    CALL(C(I##n), C(i##n), "icollective", (ALL parameters, MPI_Request * request), (ALL arguments, request), before,   \
         put_pending(e, request, false))                                                                             \
    IF_FOUR(CALL(C(N##_init), C(n##_init), "persistent", (ALL parameters, MPI_Info info, MPI_Request * request),       \
                 (ALL arguments, info, request), before, make_template(e, request, false)))

COLLECTIVE(Bcast, bcast, (void *buffer, COUNT count, MPI_Datatype datatype, int root, MPI_Comm comm),
           (buffer, count, datatype, root, comm), from_root(e, count, datatype, root, comm))
COLLECTIVE(Gather, gather,
           (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, COUNT recvcount,
            MPI_Datatype recvtype, int root, MPI_Comm comm),
           (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
           to_root(e, sendbuf == MPI_IN_PLACE ? 0 : sendcount, sendtype, root, comm))
COLLECTIVE(Gatherv, gatherv,
           (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[],
            const DISPLACEMENT displs[], MPI_Datatype recvtype, int root, MPI_Comm comm),
           (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm),
           to_root(e, sendbuf == MPI_IN_PLACE ? 0 : sendcount, sendtype, root, comm))
COLLECTIVE(Scatter, scatter,
           (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, COUNT recvcount,
            MPI_Datatype recvtype, int root, MPI_Comm comm),
           (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm), rooted(e, 0, MPI_BYTE, root, comm);
           if (is_root(root, comm)) for_each(e, sendcount, sendtype, comm))
COLLECTIVE(Scatterv, scatterv,
           (const void *sendbuf, const COUNT sendcounts[], const DISPLACEMENT displs[], MPI_Datatype sendtype,
            void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm),
           (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm),
           rooted(e, 0, MPI_BYTE, root, comm);
           if (is_root(root, comm)) SUM(sendcounts, sendtype, comm))
COLLECTIVE(Allgather, allgather,
           (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, COUNT recvcount,
            MPI_Datatype recvtype, MPI_Comm comm),
           (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
           collective(e, sendbuf == MPI_IN_PLACE ? recvcount : sendcount, sendbuf == MPI_IN_PLACE ? recvtype : sendtype,
                      comm))
COLLECTIVE(Allgatherv, allgatherv,
           (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[],
            const DISPLACEMENT displs[], MPI_Datatype recvtype, MPI_Comm comm),
           (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm),
           collective(e, 0, MPI_BYTE, comm);
           if (sendbuf == MPI_IN_PLACE) OWN(recvcounts, recvtype, comm); else bytes(e, sendcount, sendtype))
COLLECTIVE(Alltoall, alltoall,
           (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, COUNT recvcount,
            MPI_Datatype recvtype, MPI_Comm comm),
           (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), collective(e, 0, MPI_BYTE, comm);
           for_each(e, sendbuf == MPI_IN_PLACE ? recvcount : sendcount, sendbuf == MPI_IN_PLACE ? recvtype : sendtype,
                    comm))
COLLECTIVE(Alltoallv, alltoallv,
           (const void *sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[], MPI_Datatype sendtype,
            void *recvbuf, const COUNT recvcounts[], const DISPLACEMENT rdispls[], MPI_Datatype recvtype,
            MPI_Comm comm),
           (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm),
           collective(e, 0, MPI_BYTE, comm);
           SUM(sendbuf == MPI_IN_PLACE ? recvcounts : sendcounts, sendbuf == MPI_IN_PLACE ? recvtype : sendtype, comm))
COLLECTIVE(Alltoallw, alltoallw,
           (const void *sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[], const MPI_Datatype sendtypes[],
            void *recvbuf, const COUNT recvcounts[], const DISPLACEMENT rdispls[], const MPI_Datatype recvtypes[],
            MPI_Comm comm),
           (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm),
           collective(e, 0, MPI_BYTE, comm);
           SUM_TYPES(sendbuf == MPI_IN_PLACE ? recvcounts : sendcounts,
                     sendbuf == MPI_IN_PLACE ? recvtypes : sendtypes, comm))
COLLECTIVE(Reduce, reduce,
           (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm),
           (sendbuf, recvbuf, count, datatype, op, root, comm), to_root(e, count, datatype, root, comm))
COLLECTIVE(Allreduce, allreduce,
           (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
           (sendbuf, recvbuf, count, datatype, op, comm), collective(e, count, datatype, comm))
COLLECTIVE(Reduce_scatter, reduce_scatter,
           (const void *sendbuf, void *recvbuf, const COUNT recvcounts[], MPI_Datatype datatype, MPI_Op op,
            MPI_Comm comm),
           (sendbuf, recvbuf, recvcounts, datatype, op, comm), collective(e, 0, MPI_BYTE, comm);
           OWN(recvcounts, datatype, comm))
COLLECTIVE(Reduce_scatter_block, reduce_scatter_block,
           (const void *sendbuf, void *recvbuf, COUNT recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
           (sendbuf, recvbuf, recvcount, datatype, op, comm), collective(e, recvcount, datatype, comm))
COLLECTIVE(Scan, scan,
           (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
           (sendbuf, recvbuf, count, datatype, op, comm), collective(e, count, datatype, comm))
COLLECTIVE(Exscan, exscan,
           (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
           (sendbuf, recvbuf, count, datatype, op, comm), collective(e, count, datatype, comm))

/* The number of neighbours is not queried: bytes are per neighbour. */
COLLECTIVE(Neighbor_allgather, neighbor_allgather,
           (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, COUNT recvcount,
            MPI_Datatype recvtype, MPI_Comm comm),
           (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), collective(e, sendcount, sendtype, comm))
COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv,
           (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[],
            const DISPLACEMENT displs[], MPI_Datatype recvtype, MPI_Comm comm),
           (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm),
           collective(e, sendcount, sendtype, comm))
COLLECTIVE(Neighbor_alltoall, neighbor_alltoall,
           (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, COUNT recvcount,
            MPI_Datatype recvtype, MPI_Comm comm),
           (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), collective(e, sendcount, sendtype, comm))
COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv,
           (const void *sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[], MPI_Datatype sendtype,
            void *recvbuf, const COUNT recvcounts[], const DISPLACEMENT rdispls[], MPI_Datatype recvtype,
            MPI_Comm comm),
           (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm), on(e, comm))
COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw,
           (const void *sendbuf, const COUNT sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
            void *recvbuf, const COUNT recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
            MPI_Comm comm),
           (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm), on(e, comm))
#undef COLLECTIVE
#undef ALL

/* One-sided: at once, and with a request. */
#define TARGET int target_rank, MPI_Aint target_disp, COUNT target_count, MPI_Datatype target_datatype
#define TARGET_GIVEN target_rank, target_disp, target_count, target_datatype
CALL(C(Put), C(put), "rma",
     (const void *origin_addr, COUNT origin_count, MPI_Datatype origin_datatype, TARGET, MPI_Win win),
     (origin_addr, origin_count, origin_datatype, TARGET_GIVEN, win),
     at_target(e, origin_count, origin_datatype, target_rank, win), )
CALL(C(Get), C(get), "rma", (void *origin_addr, COUNT origin_count, MPI_Datatype origin_datatype, TARGET, MPI_Win win),
     (origin_addr, origin_count, origin_datatype, TARGET_GIVEN, win),
     at_target(e, origin_count, origin_datatype, target_rank, win), )
CALL(C(Accumulate), C(accumulate), "rma",
     (const void *origin_addr, COUNT origin_count, MPI_Datatype origin_datatype, TARGET, MPI_Op op, MPI_Win win),
     (origin_addr, origin_count, origin_datatype, TARGET_GIVEN, op, win),
     at_target(e, origin_count, origin_datatype, target_rank, win), )
CALL(C(Get_accumulate), C(get_accumulate), "rma",
     (const void *origin_addr, COUNT origin_count, MPI_Datatype origin_datatype, void *result_addr, COUNT result_count,
      MPI_Datatype result_datatype, TARGET, MPI_Op op, MPI_Win win),
     (origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype, TARGET_GIVEN, op, win),
     at_target(e, op != MPI_NO_OP ? origin_count : 0, origin_datatype, target_rank, win), )
CALL(C(Rput), C(rput), "rma",
     (const void *origin_addr, COUNT origin_count, MPI_Datatype origin_datatype, TARGET, MPI_Win win,
      MPI_Request *request),
     (origin_addr, origin_count, origin_datatype, TARGET_GIVEN, win, request),
     at_target(e, origin_count, origin_datatype, target_rank, win), put_pending(e, request, false))
CALL(C(Rget), C(rget), "rma",
     (void *origin_addr, COUNT origin_count, MPI_Datatype origin_datatype, TARGET, MPI_Win win, MPI_Request *request),
     (origin_addr, origin_count, origin_datatype, TARGET_GIVEN, win, request),
     at_target(e, origin_count, origin_datatype, target_rank, win), put_pending(e, request, false))
CALL(C(Raccumulate), C(raccumulate), "rma",
     (const void *origin_addr, COUNT origin_count, MPI_Datatype origin_datatype, TARGET, MPI_Op op, MPI_Win win,
      MPI_Request *request),
     (origin_addr, origin_count, origin_datatype, TARGET_GIVEN, op, win, request),
     at_target(e, origin_count, origin_datatype, target_rank, win), put_pending(e, request, false))
CALL(C(Rget_accumulate), C(rget_accumulate), "rma",
     (const void *origin_addr, COUNT origin_count, MPI_Datatype origin_datatype, void *result_addr, COUNT result_count,
      MPI_Datatype result_datatype, TARGET, MPI_Op op, MPI_Win win, MPI_Request *request),
     (origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype, TARGET_GIVEN, op, win,
      request),
     at_target(e, op != MPI_NO_OP ? origin_count : 0, origin_datatype, target_rank, win), put_pending(e, request, false))
#undef TARGET
#undef TARGET_GIVEN

/* Files: a buffer at the file's own pointer, at an offset, at the shared pointer. */
#define READ_BUFFER void *buf, COUNT count, MPI_Datatype datatype
#define WRITE_BUFFER const void *buf, COUNT count, MPI_Datatype datatype
#define ALL(...) __VA_ARGS__
#define IO(N, n, parameters, arguments)                                                                                \
    CALL(C(N), C(n), "io", (ALL parameters, MPI_Status * status), (ALL arguments, status),                             \
         in_file(e, count, datatype, fh), )
#define IIO(N, n, parameters, arguments)                                                                               \
    CALL(C(N), C(n), "iio", (ALL parameters, MPI_Request * request), (ALL arguments, request),                         \
         in_file(e, count, datatype, fh), put_pending(e, request, false))
#define BEGIN_IO(N, n, parameters, arguments)                                                                          \
    CALL(C(N), C(n), "io", parameters, arguments, in_file(e, count, datatype, fh), )
#define HERE(buffer) (MPI_File fh, buffer)
#define AT(buffer) (MPI_File fh, MPI_Offset offset, buffer)
IO(File_read, file_read, HERE(READ_BUFFER), (fh, buf, count, datatype))
IO(File_read_all, file_read_all, HERE(READ_BUFFER), (fh, buf, count, datatype))
IO(File_read_at, file_read_at, AT(READ_BUFFER), (fh, offset, buf, count, datatype))
IO(File_read_at_all, file_read_at_all, AT(READ_BUFFER), (fh, offset, buf, count, datatype))
IO(File_read_shared, file_read_shared, HERE(READ_BUFFER), (fh, buf, count, datatype))
IO(File_read_ordered, file_read_ordered, HERE(READ_BUFFER), (fh, buf, count, datatype))
IO(File_write, file_write, HERE(WRITE_BUFFER), (fh, buf, count, datatype))
IO(File_write_all, file_write_all, HERE(WRITE_BUFFER), (fh, buf, count, datatype))
IO(File_write_at, file_write_at, AT(WRITE_BUFFER), (fh, offset, buf, count, datatype))
IO(File_write_at_all, file_write_at_all, AT(WRITE_BUFFER), (fh, offset, buf, count, datatype))
IO(File_write_shared, file_write_shared, HERE(WRITE_BUFFER), (fh, buf, count, datatype))
IO(File_write_ordered, file_write_ordered, HERE(WRITE_BUFFER), (fh, buf, count, datatype))
IIO(File_iread, file_iread, HERE(READ_BUFFER), (fh, buf, count, datatype))
IIO(File_iread_all, file_iread_all, HERE(READ_BUFFER), (fh, buf, count, datatype))
IIO(File_iread_at, file_iread_at, AT(READ_BUFFER), (fh, offset, buf, count, datatype))
IIO(File_iread_at_all, file_iread_at_all, AT(READ_BUFFER), (fh, offset, buf, count, datatype))
IIO(File_iread_shared, file_iread_shared, HERE(READ_BUFFER), (fh, buf, count, datatype))
IIO(File_iwrite, file_iwrite, HERE(WRITE_BUFFER), (fh, buf, count, datatype))
IIO(File_iwrite_all, file_iwrite_all, HERE(WRITE_BUFFER), (fh, buf, count, datatype))
IIO(File_iwrite_at, file_iwrite_at, AT(WRITE_BUFFER), (fh, offset, buf, count, datatype))
IIO(File_iwrite_at_all, file_iwrite_at_all, AT(WRITE_BUFFER), (fh, offset, buf, count, datatype))
IIO(File_iwrite_shared, file_iwrite_shared, HERE(WRITE_BUFFER), (fh, buf, count, datatype))
BEGIN_IO(File_read_all_begin, file_read_all_begin, HERE(READ_BUFFER), (fh, buf, count, datatype))
BEGIN_IO(File_read_at_all_begin, file_read_at_all_begin, AT(READ_BUFFER), (fh, offset, buf, count, datatype))
BEGIN_IO(File_read_ordered_begin, file_read_ordered_begin, HERE(READ_BUFFER), (fh, buf, count, datatype))
BEGIN_IO(File_write_all_begin, file_write_all_begin, HERE(WRITE_BUFFER), (fh, buf, count, datatype))
BEGIN_IO(File_write_at_all_begin, file_write_at_all_begin, AT(WRITE_BUFFER), (fh, offset, buf, count, datatype))
BEGIN_IO(File_write_ordered_begin, file_write_ordered_begin, HERE(WRITE_BUFFER), (fh, buf, count, datatype))
#undef IO
#undef IIO
#undef BEGIN_IO
#undef HERE
#undef AT
#undef READ_BUFFER
#undef WRITE_BUFFER
#undef ALL
/* clang-format on */

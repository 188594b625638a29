/* Every collective once, blocking, with a request and persistent. Included by collectives.c for int and for MPI_Count. */
#ifdef LARGE
#define C(name) name##_c
#define COUNT MPI_Count
#define DISPLACEMENT MPI_Aint
#else
#define C(name) name
#define COUNT int
#define DISPLACEMENT int
#endif

#if MPI_VERSION >= 4
#define PERSISTENT(name, ...)                                                                                          \
    clear();                                                                                                           \
    C(MPI_##name##_init)(__VA_ARGS__, MPI_INFO_NULL, &request);                                                        \
    MPI_Start(&request);                                                                                               \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                             \
    MPI_Request_free(&request);                                                                                        \
    check();
#else
#define PERSISTENT(...)
#endif
#define EACH(name, lower, ...)                                                                                         \
    do {                                                                                                               \
        MPI_Request request;                                                                                           \
        clear();                                                                                                       \
        C(MPI_##name)(__VA_ARGS__);                                                                                    \
        check();                                                                                                       \
        clear();                                                                                                       \
        C(MPI_I##lower)(__VA_ARGS__, &request);                                                                        \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                         \
        check();                                                                                                       \
        PERSISTENT(name, __VA_ARGS__)                                                                                  \
    } while (0)

/* An array that ends where a page ends: reading beyond it fails. */
static COUNT *C(counts)(int n, int each)
{
    COUNT *array = (COUNT *)at_end((size_t)n * sizeof *array);
    for (int i = 0; i < n; i++)
        array[i] = each;
    return array;
}

static DISPLACEMENT *C(offsets)(int n, int each)
{
    DISPLACEMENT *array = (DISPLACEMENT *)at_end((size_t)n * sizeof *array);
    for (int i = 0; i < n; i++)
        array[i] = i * each;
    return array;
}

/* What is significant at the root, and where the others put something in or take something out. */
#define ROOT(x) (of.is_root ? (x) : (__typeof__(x))garbage)
#define MEMBER(x) (of.is_member ? (x) : (__typeof__(x))garbage)
#define ROOT_NOT(x) (of.is_root ? (__typeof__(x))garbage : (x))
#define EITHER(x) (of.is_root || of.is_member ? (x) : (__typeof__(x))garbage)

static void C(rooted)(struct side of)
{
    COUNT *twos = C(counts)(of.partners, 2);
    DISPLACEMENT *places = C(offsets)(of.partners, 2);
    EACH(Bcast, bcast, EITHER(of.is_root ? in : out), EITHER((COUNT)2), MPI_INT, of.root, of.comm);
    EACH(Gather, gather, MEMBER(in), MEMBER((COUNT)2), MEMBER(MPI_INT), ROOT(out), ROOT((COUNT)2), ROOT(MPI_INT), of.root,
         of.comm);
    EACH(Gatherv, gatherv, MEMBER(in), MEMBER((COUNT)2), MEMBER(MPI_INT), ROOT(out), ROOT(twos), ROOT(places),
         ROOT(MPI_INT), of.root, of.comm);
    EACH(Scatter, scatter, ROOT(in), ROOT((COUNT)2), ROOT(MPI_INT), MEMBER(out), MEMBER((COUNT)2), MEMBER(MPI_INT), of.root,
         of.comm);
    EACH(Scatterv, scatterv, ROOT(in), ROOT(twos), ROOT(places), ROOT(MPI_INT), MEMBER(out), MEMBER((COUNT)2),
         MEMBER(MPI_INT), of.root, of.comm);
    EACH(Reduce, reduce, MEMBER(in), ROOT(out), EITHER((COUNT)2), MPI_INT, MPI_SUM, of.root, of.comm);
}

static void C(unrooted)(struct side of)
{
    COUNT *twos = C(counts)(of.partners, 2), *own = C(counts)(of.size, of.unit);
    DISPLACEMENT *places = C(offsets)(of.partners, 2);
    DISPLACEMENT *in_bytes = C(offsets)(of.partners, 2 * (int)sizeof(int));
    MPI_Datatype *types = (MPI_Datatype *)at_end((size_t)of.partners * sizeof *types);
    for (int i = 0; i < of.partners; i++)
        types[i] = MPI_INT;
    EACH(Allgather, allgather, in, 2, MPI_INT, out, 2, MPI_INT, of.comm);
    EACH(Allgatherv, allgatherv, in, 2, MPI_INT, out, twos, places, MPI_INT, of.comm);
    EACH(Alltoall, alltoall, in, 2, MPI_INT, out, 2, MPI_INT, of.comm);
    EACH(Alltoallv, alltoallv, in, twos, places, MPI_INT, out, twos, places, MPI_INT, of.comm);
    EACH(Alltoallw, alltoallw, in, twos, in_bytes, types, out, twos, in_bytes, types, of.comm);
    EACH(Allreduce, allreduce, in, out, 2, MPI_INT, MPI_SUM, of.comm);
    EACH(Reduce_scatter, reduce_scatter, in, out, own, MPI_INT, MPI_SUM, of.comm);
    EACH(Reduce_scatter_block, reduce_scatter_block, in, out, of.unit, MPI_INT, MPI_SUM, of.comm);
}

/* Of an intracommunicator alone: buffers that are used in place, prefixes and neighbours. */
static void C(within)(struct side of)
{
    COUNT *twos = C(counts)(of.partners, 2), *both = C(counts)(2, 2);
    DISPLACEMENT *places = C(offsets)(of.partners, 2), *two_places = C(offsets)(2, 2);
    DISPLACEMENT *in_bytes = C(offsets)(of.partners, 2 * (int)sizeof(int));
    MPI_Aint *two_in_bytes = (MPI_Aint *)at_end(2 * sizeof *two_in_bytes);
    MPI_Datatype *types = (MPI_Datatype *)at_end((size_t)of.partners * sizeof *types);
    for (int i = 0; i < of.partners; i++)
        types[i] = MPI_INT;
    two_in_bytes[0] = 0, two_in_bytes[1] = 2 * sizeof(int);
    const void *at_root = of.is_root ? MPI_IN_PLACE : in;
    void *into = of.is_root ? MPI_IN_PLACE : out;
    EACH(Gather, gather, at_root, ROOT_NOT((COUNT)2), ROOT_NOT(MPI_INT), ROOT(out), ROOT((COUNT)2), ROOT(MPI_INT), of.root,
         of.comm);
    EACH(Gatherv, gatherv, at_root, ROOT_NOT((COUNT)2), ROOT_NOT(MPI_INT), ROOT(out), ROOT(twos), ROOT(places),
         ROOT(MPI_INT), of.root, of.comm);
    EACH(Scatter, scatter, ROOT(in), ROOT((COUNT)2), ROOT(MPI_INT), into, ROOT_NOT((COUNT)2), ROOT_NOT(MPI_INT), of.root,
         of.comm);
    EACH(Scatterv, scatterv, ROOT(in), ROOT(twos), ROOT(places), ROOT(MPI_INT), into, ROOT_NOT((COUNT)2),
         ROOT_NOT(MPI_INT), of.root, of.comm);
    EACH(Reduce, reduce, at_root, ROOT(out), 2, MPI_INT, MPI_SUM, of.root, of.comm);
    EACH(Allgather, allgather, MPI_IN_PLACE, 99, IGNORED_TYPE, out, 2, MPI_INT, of.comm);
    EACH(Allgatherv, allgatherv, MPI_IN_PLACE, 99, IGNORED_TYPE, out, twos, places, MPI_INT, of.comm);
    EACH(Alltoall, alltoall, MPI_IN_PLACE, 99, IGNORED_TYPE, out, 2, MPI_INT, of.comm);
    EACH(Alltoallv, alltoallv, MPI_IN_PLACE, (COUNT *)garbage, (DISPLACEMENT *)garbage, IGNORED_TYPE, out, twos, places, MPI_INT, of.comm);
    EACH(Alltoallw, alltoallw, MPI_IN_PLACE, (COUNT *)garbage, (DISPLACEMENT *)garbage, (MPI_Datatype *)garbage, out, twos, in_bytes, types, of.comm);
    EACH(Allreduce, allreduce, MPI_IN_PLACE, out, 2, MPI_INT, MPI_SUM, of.comm);
    EACH(Reduce_scatter, reduce_scatter, MPI_IN_PLACE, out, twos, MPI_INT, MPI_SUM, of.comm);
    EACH(Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, out, 2, MPI_INT, MPI_SUM, of.comm);
    EACH(Scan, scan, in, out, 2, MPI_INT, MPI_SUM, of.comm);
    EACH(Exscan, exscan, in, out, 2, MPI_INT, MPI_SUM, of.comm);
    EACH(Neighbor_allgather, neighbor_allgather, in, 2, MPI_INT, out, 2, MPI_INT, ring);
    EACH(Neighbor_allgatherv, neighbor_allgatherv, in, 2, MPI_INT, out, both, two_places, MPI_INT, ring);
    EACH(Neighbor_alltoall, neighbor_alltoall, in, 2, MPI_INT, out, 2, MPI_INT, ring);
    EACH(Neighbor_alltoallv, neighbor_alltoallv, in, both, two_places, MPI_INT, out, both, two_places, MPI_INT, ring);
    EACH(Neighbor_alltoallw, neighbor_alltoallw, in, both, two_in_bytes, types, out, both, two_in_bytes, types, ring);
}

#undef C
#undef COUNT
#undef DISPLACEMENT
#undef PERSISTENT
#undef EACH
#undef ROOT
#undef MEMBER
#undef ROOT_NOT
#undef EITHER

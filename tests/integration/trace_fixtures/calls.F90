! The same calls by each binding: F08, or MODULE_MPI, or else mpif.h.
program calls
#ifdef F08
  use mpi_f08
#elif defined(MODULE_MPI)
  use mpi
#endif
  implicit none
#ifdef F08
  integer :: error, rank, ranks, i
  type(MPI_Request) :: requests(2)
  type(MPI_Comm) :: half
  type(MPI_Status) :: status
#else
#ifndef MODULE_MPI
  include 'mpif.h'
#endif
  integer :: error, rank, ranks, i, requests(2), half, status(MPI_STATUS_SIZE)
#endif
  double precision :: a(10), b(10)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call MPI_Comm_split(MPI_COMM_WORLD, 0, rank, half, error)
  a = 1
  do i = 1, 3
    call MPI_Irecv(b, 10, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, i, half, requests(1), error)
    call MPI_Isend(a, 10, MPI_DOUBLE_PRECISION, mod(rank + 1, ranks), i, half, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call MPI_Allreduce(MPI_IN_PLACE, a, 10, MPI_DOUBLE_PRECISION, MPI_MAX, half, error)
  end do
  call MPI_Sendrecv(a, 5, MPI_DOUBLE_PRECISION, mod(rank + 1, ranks), 4, b, 10, MPI_DOUBLE_PRECISION, &
                    MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, status, error)
  call MPI_Sendrecv(a, 5, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 4, b, 10, MPI_DOUBLE_PRECISION, &
                    MPI_PROC_NULL, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call MPI_Finalize(error)
end program

! A Fortran module that uses MPI, for programs that load it as Python does.
subroutine work(total, error)
  implicit none
  include 'mpif.h'
  integer total, error, rank, one
  call MPI_INIT(error)
  rank = -7
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
  one = rank + 1
  call MPI_ALLREDUCE(one, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_FINALIZE(error)
end subroutine

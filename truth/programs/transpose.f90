! A matrix, its columns spread over ranks: its columns are transformed, then it is transposed by exchanging blocks,
! again and again; at the end, every rank sums its share, which is uneven, and waits for the rest.
module spread
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi
  implicit none
  integer, parameter :: n = 512
  integer :: rank, ranks, width
  real(real64), allocatable :: mine(:, :), blocks(:, :, :), received(:, :, :)

contains

  ! Each column by the cosine transform of a short window around every element.
  subroutine transform_columns()
    integer :: j, i, w
    real(real64) :: column(n), weight(-4:4)
    do w = -4, 4
      weight(w) = cos(0.3_real64 * w) / 9
    end do
    do j = 1, width
      column = mine(:, j)
      do i = 5, n - 4
        mine(i, j) = 0.5_real64 * column(i)
        do w = -4, 4
          mine(i, j) = mine(i, j) + weight(w) * column(i + w)
        end do
        mine(i, j) = mine(i, j) / (1 + abs(mine(i, j)))
      end do
    end do
  end subroutine transform_columns

  subroutine transpose_blocks()
    integer :: other, i, j, status
    do other = 1, ranks
      do j = 1, width
        do i = 1, width
          blocks(j, i, other) = mine((other - 1) * width + i, j)
        end do
      end do
    end do
    call mpi_alltoall(blocks, width * width, mpi_double_precision, received, width * width, mpi_double_precision, &
                      mpi_comm_world, status)
    do other = 1, ranks
      mine((other - 1) * width + 1:other * width, :) = received(:, :, other)
    end do
  end subroutine transpose_blocks

  ! Moments of the matrix; rank 0 has three times as much to do as the others.
  real(real64) function sum_moments(order) result(total)
    integer, intent(in) :: order
    integer :: round, status
    real(real64) :: own
    own = 0
    do round = 1, merge(3, 1, rank == 0)
      own = own + sum(abs(mine)**(order + 0.5_real64 * round))
    end do
    call mpi_allreduce(own, total, 1, mpi_double_precision, mpi_sum, mpi_comm_world, status)
  end function sum_moments

end module spread

program transpose_program
  use spread
  use truth_log
  implicit none
  integer :: i, j, status
  real(real64) :: scale, total

  call mpi_init(status)
  call mpi_comm_rank(mpi_comm_world, rank, status)
  call mpi_comm_size(mpi_comm_world, ranks, status)
  call truth_rank(rank)
  scale = scale_argument()
  width = n / ranks
  allocate (mine(n, width), blocks(width, width, ranks), received(width, width, ranks))
  do j = 1, width
    do i = 1, n
      mine(i, j) = sin(0.1_real64 * i * (rank * width + j))
    end do
  end do
  call truth_phase('transform')
  do i = 1, 1 + int(350 * scale)
    call transform_columns()
    call transpose_blocks()
  end do
  call truth_phase('moments')
  total = 0
  do i = 1, 1 + int(500 * scale)
    total = total + sum_moments(mod(i, 7))
  end do
  call truth_end()
  if (rank == 0) print '(a,es14.7)', 'transpose: moments ', total
  call mpi_finalize(status)
end program transpose_program

! A dense matrix: its square, its factors, and its largest eigenvalue, each a single call that runs for seconds.
module dense
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  real(real64), allocatable :: a(:, :), b(:, :)

contains

  subroutine fill(n)
    integer, intent(in) :: n
    integer :: i, j
    integer(int64) :: seed
    allocate (a(n, n), b(n, n), source=0.0_real64)
    seed = 31
    do j = 1, n
      do i = 1, n
        seed = mod(seed * 48271_int64, 2147483647_int64)
        a(i, j) = real(seed, real64) / 2147483647.0_real64
      end do
      a(j, j) = a(j, j) + n
    end do
  end subroutine fill

  subroutine multiply(n)
    integer, intent(in) :: n
    integer :: i, j, k
    do j = 1, n
      do k = 1, n
        do i = 1, n
          b(i, j) = b(i, j) + a(i, k) * a(k, j)
        end do
      end do
    end do
  end subroutine multiply

  ! Lower and upper factor in place of the matrix.
  subroutine factorise(n)
    integer, intent(in) :: n
    integer :: i, j, k
    do k = 1, n - 1
      b(k + 1:n, k) = b(k + 1:n, k) / b(k, k)
      do j = k + 1, n
        do i = k + 1, n
          b(i, j) = b(i, j) - b(i, k) * b(k, j)
        end do
      end do
    end do
  end subroutine factorise

  ! By powers of the matrix on a vector.
  real(real64) function largest_eigenvalue(n, iterations)
    integer, intent(in) :: n, iterations
    real(real64) :: x(n), y(n)
    integer :: i, j, iteration
    x = 1
    largest_eigenvalue = 0
    do iteration = 1, iterations
      y = 0
      do j = 1, n
        do i = 1, n
          y(i) = y(i) + a(i, j) * x(j)
        end do
      end do
      largest_eigenvalue = sqrt(sum(y**2))
      x = y / largest_eigenvalue
    end do
  end function largest_eigenvalue

end module dense

program matmul_program
  use dense
  use truth_log
  implicit none
  integer :: n
  real(real64) :: scale, eigenvalue

  scale = scale_argument()
  n = 20 + int(1550 * scale**(1.0_real64 / 3))
  call fill(n)
  call truth_phase('multiply')
  call multiply(n)
  call truth_phase('factorise')
  call factorise(n)
  call truth_phase('eigenvalue')
  eigenvalue = largest_eigenvalue(n, n)
  call truth_end()
  print '(a,es16.9,a,es16.9)', 'matmul: eigenvalue ', eigenvalue, ', last pivot ', b(n, n)
end program matmul_program

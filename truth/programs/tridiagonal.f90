! Eigenvalues of a symmetric matrix: reduced to three diagonals in one long call, nine tenths of the run; then found by
! bisection, a tenth, and checked by their sums, one or two hundredths.
module symmetric
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64), allocatable :: a(:, :), diagonal(:), beside(:), eigenvalue(:)

contains

  ! Householder's reflections, from the last row on.
  subroutine reduce(n)
    integer, intent(in) :: n
    integer :: i, j
    real(real64) :: v(n), w(n), norm, vw
    do i = n, 3, -1
      v(1:i - 1) = a(1:i - 1, i)
      norm = sign(sqrt(sum(v(1:i - 1)**2)), v(i - 1))
      v(i - 1) = v(i - 1) + norm
      beside(i) = -norm
      diagonal(i) = a(i, i)
      v(1:i - 1) = v(1:i - 1) / sqrt(sum(v(1:i - 1)**2))
      w = 0
      do j = 1, i - 1
        w(1:i - 1) = w(1:i - 1) + a(1:i - 1, j) * v(j)
      end do
      vw = sum(v(1:i - 1) * w(1:i - 1))
      w(1:i - 1) = w(1:i - 1) - vw * v(1:i - 1)
      do j = 1, i - 1
        a(1:i - 1, j) = a(1:i - 1, j) - 2 * v(1:i - 1) * w(j) - 2 * w(1:i - 1) * v(j)
      end do
    end do
    diagonal(1:2) = [a(1, 1), a(2, 2)]
    beside(1:2) = [0.0_real64, a(1, 2)]
  end subroutine reduce

  ! The k-th eigenvalue: how many are below x, by the signs of a Sturm sequence.
  subroutine bisect(n, k)
    integer, intent(in) :: n, k
    real(real64) :: low, high, x, q
    integer :: step, i, below
    low = -2.0_real64 * n
    high = 2.0_real64 * n
    do step = 1, 20
      x = (low + high) / 2
      below = 0
      q = 1
      do i = 1, n
        q = diagonal(i) - x - beside(i)**2 / sign(max(abs(q), 1e-300_real64), q)
        if (q < 0) below = below + 1
      end do
      if (below >= k) then
        high = x
      else
        low = x
      end if
    end do
    eigenvalue(k) = x
  end subroutine bisect

  ! The sums of powers of what was found.
  real(real64) function check_power(n, power) result(total)
    integer, intent(in) :: n, power
    integer :: i
    total = 0
    do i = 1, n
      total = total + abs(eigenvalue(i) / n)**(0.1_real64 * power)
    end do
  end function check_power

end module symmetric

program tridiagonal
  use symmetric
  use truth_log
  implicit none
  integer :: i, j, n
  real(real64) :: scale, total

  scale = scale_argument()
  n = 50 + int(2100 * scale**(1.0_real64 / 3))
  allocate (a(n, n), diagonal(n), beside(n), eigenvalue(n))
  do j = 1, n
    do i = 1, n
      a(i, j) = sin(real(i * j, real64)) + cos(real(i + j, real64))
    end do
  end do
  call truth_phase('reduce')
  call reduce(n)
  call truth_phase('bisect')
  do i = 1, n
    call bisect(n, i)
  end do
  total = 0
  call truth_phase('check')
  do i = 1, 1 + int(3000 * scale)
    total = total + check_power(n, i)
  end do
  call truth_end()
  print '(a,es14.7,a,es14.7)', 'tridiagonal: largest ', eigenvalue(n), ', sums ', total
end program tridiagonal

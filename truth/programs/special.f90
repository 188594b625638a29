! Tables of special functions, row by row: nearly all of the time goes to libm.
module tables
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: n = 2000
  real(real64) :: row(n), total = 0

contains

  subroutine bessel_row(x0)
    real(real64), intent(in) :: x0
    integer :: i
    do i = 1, n
      row(i) = bessel_jn(5, x0 + 0.01_real64 * i)
    end do
    total = total + sum(row)
  end subroutine bessel_row

  subroutine gamma_row(x0)
    real(real64), intent(in) :: x0
    integer :: i
    do i = 1, n
      row(i) = log_gamma(x0 + 0.01_real64 * i) + gamma(1 + 0.01_real64 * i)**0.125_real64
    end do
    total = total + sum(row) * 1e-3_real64
  end subroutine gamma_row

  subroutine error_row(x0)
    real(real64), intent(in) :: x0
    integer :: i
    do i = 1, n
      row(i) = erf(x0 * 0.01_real64 * i) * erfc(0.5_real64 - 0.001_real64 * i) * tanh(0.001_real64 * i)
    end do
    total = total + sum(row)
  end subroutine error_row

end module tables

program special
  use tables
  use truth_log
  implicit none
  integer :: i
  real(real64) :: scale

  scale = scale_argument()
  call truth_phase('bessel')
  do i = 1, 1 + int(8000 * scale)
    call bessel_row(0.001_real64 * i)
  end do
  call truth_phase('gamma')
  do i = 1, 1 + int(7000 * scale)
    call gamma_row(0.001_real64 * i)
  end do
  call truth_phase('error')
  do i = 1, 1 + int(40000 * scale)
    call error_row(0.001_real64 * i)
  end do
  call truth_end()
  print '(a,es16.9)', 'special: total ', total
end program special

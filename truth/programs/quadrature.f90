! Integrals by adaptive quadrature, which calls itself and the integrand that it is given: of smooth functions, of
! peaks, and double ones, whose integrand is itself an integral.
module integrals
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none

  abstract interface
    real(real64) function integrand(x, p)
      import :: real64
      real(real64), intent(in) :: x, p
    end function integrand
  end interface

contains

  real(real64) function ripple(x, p)
    real(real64), intent(in) :: x, p
    ripple = 1 / (1.1_real64 + x * x * (1 - p * x)**2)
  end function ripple

  real(real64) function peak(x, p)
    real(real64), intent(in) :: x, p
    peak = 1e-3_real64 / ((x - p)**2 + 1e-6_real64) / (2 + x)
  end function peak

  real(real64) function inner(x, p)
    real(real64), intent(in) :: x, p
    inner = integral(ripple, 0.0_real64, x, p, 1e-7_real64)
  end function inner

  recursive real(real64) function integral(f, a, b, p, tolerance) result(sum_ab)
    procedure(integrand) :: f
    real(real64), intent(in) :: a, b, p, tolerance
    sum_ab = refined(f, a, b, p, tolerance, f(a, p), f((a + b) / 2, p), f(b, p), 0)
  end function integral

  ! Simpson's rule, halved where it has not converged.
  recursive real(real64) function refined(f, a, b, p, tolerance, fa, fm, fb, depth) result(sum_ab)
    procedure(integrand) :: f
    real(real64), intent(in) :: a, b, p, tolerance, fa, fm, fb
    integer, intent(in) :: depth
    real(real64) :: left, right, m
    m = (a + b) / 2
    left = f((a + m) / 2, p)
    right = f((m + b) / 2, p)
    sum_ab = (b - a) / 12 * (fa + 4 * left + 2 * fm + 4 * right + fb)
    if (depth > 40 .or. (depth > 3 .and. abs(sum_ab - (b - a) / 6 * (fa + 4 * fm + fb)) < tolerance)) return
    sum_ab = refined(f, a, m, p, tolerance / 2, fa, left, fm, depth + 1) &
             + refined(f, m, b, p, tolerance / 2, fm, right, fb, depth + 1)
  end function refined

  real(real64) function smooth_table(first) result(total)
    integer, intent(in) :: first
    integer :: i
    total = 0
    do i = first, first + 9
      total = total + integral(ripple, 0.0_real64, 3.0_real64, 0.01_real64 * mod(i, 300), 1e-12_real64)
    end do
  end function smooth_table

  real(real64) function peak_table(first) result(total)
    integer, intent(in) :: first
    integer :: i
    total = 0
    do i = first, first + 9
      total = total + integral(peak, 0.0_real64, 3.0_real64, 0.01_real64 * mod(i, 300), 1e-11_real64)
    end do
  end function peak_table

  real(real64) function double_table(first) result(total)
    integer, intent(in) :: first
    integer :: i
    total = 0
    do i = first, first + 9
      total = total + integral(inner, 0.0_real64, 3.0_real64, 0.01_real64 * mod(i, 300), 1e-5_real64)
    end do
  end function double_table

end module integrals

program quadrature
  use integrals
  use truth_log
  implicit none
  integer :: i
  real(real64) :: scale, total

  scale = scale_argument()
  total = 0
  call truth_phase('smooth')
  do i = 1, 1 + int(1600 * scale)
    total = total + smooth_table(10 * i)
  end do
  call truth_phase('peaks')
  do i = 1, 1 + int(400 * scale)
    total = total + peak_table(10 * i)
  end do
  call truth_phase('double')
  do i = 1, 1 + int(800 * scale)
    total = total + double_table(10 * i)
  end do
  call truth_end()
  print '(a,es16.9)', 'quadrature: total ', total
end program quadrature

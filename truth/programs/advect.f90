! A cloud of dust: many steps of transport by the wind, then many of diffusion, three times over.
module dust
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: n = 500
  real(real64) :: c(n, n), old(n, n), u(n, n), v(n, n)

contains

  subroutine release()
    integer :: i, j
    real(real64) :: x, y
    do j = 1, n
      do i = 1, n
        x = (i - 0.5_real64) / n - 0.5_real64
        y = (j - 0.5_real64) / n - 0.5_real64
        u(i, j) = -0.6_real64 * y
        v(i, j) = 0.6_real64 * x
        c(i, j) = exp(-200 * ((x - 0.2_real64)**2 + y**2))
      end do
    end do
  end subroutine release

  ! Upwind: what flows in comes from where the wind blows.
  subroutine transport()
    integer :: i, j
    old = c
    do j = 2, n - 1
      do i = 2, n - 1
        c(i, j) = old(i, j) - max(u(i, j), 0.0_real64) * (old(i, j) - old(i - 1, j)) &
                  - min(u(i, j), 0.0_real64) * (old(i + 1, j) - old(i, j)) &
                  - max(v(i, j), 0.0_real64) * (old(i, j) - old(i, j - 1)) &
                  - min(v(i, j), 0.0_real64) * (old(i, j + 1) - old(i, j))
      end do
    end do
  end subroutine transport

  ! Implicit in one direction, then in the other.
  subroutine diffuse()
    integer :: k
    real(real64) :: line(n)
    do k = 1, n
      call solve_line(c(:, k))
    end do
    do k = 1, n
      line = c(k, :)
      call solve_line(line)
      c(k, :) = line
    end do
  end subroutine diffuse

  ! (1 + 2a) x(i) - a (x(i-1) + x(i+1)) = given, by elimination.
  subroutine solve_line(x)
    real(real64), intent(inout) :: x(n)
    real(real64), parameter :: a = 0.3_real64
    real(real64) :: factor(n)
    integer :: i
    factor(1) = a / (1 + 2 * a)
    x(1) = x(1) / (1 + 2 * a)
    do i = 2, n
      factor(i) = a / (1 + 2 * a - a * factor(i - 1))
      x(i) = (x(i) + a * x(i - 1)) * factor(i) / a
    end do
    do i = n - 1, 1, -1
      x(i) = x(i) + factor(i) * x(i + 1)
    end do
  end subroutine solve_line

end module dust

program advect
  use dust
  use truth_log
  implicit none
  integer :: cycle_number, step
  real(real64) :: scale

  scale = scale_argument()
  call release()
  do cycle_number = 1, 3
    call truth_phase('transport')
    do step = 1, 1 + int(1600 * scale)
      call transport()
    end do
    call truth_phase('diffusion')
    do step = 1, 1 + int(240 * scale)
      call diffuse()
    end do
  end do
  call truth_end()
  print '(a,es16.9,a,es16.9)', 'advect: dust ', sum(c), ', most ', maxval(c)
end program advect

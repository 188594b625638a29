! Three phases (about 10 s; the argument scales that, as in `heat 0.1`):
!   initialise  set_sources   sines and exponentials over the grid
!   relax       jacobi_step   a five-point stencil, many sweeps, with residual every tenth
!   analyse     histogram     bins of the temperatures, module procedures
! The result is the same on every run.
module heat
  implicit none
  integer, parameter :: n = 512
  real(8) :: t(n, n), next(n, n), source(n, n)
contains
  subroutine set_sources(k)
    integer, intent(in) :: k
    integer :: i, j
    do j = 1, n
      do i = 1, n
        source(i, j) = exp(-abs(sin(0.01d0 * i * k))) * cos(0.02d0 * j)
      end do
    end do
    t = 0.5d0 * source
    next = t
  end subroutine

  subroutine jacobi_step()
    integer :: i, j
    do j = 2, n - 1
      do i = 2, n - 1
        next(i, j) = 0.25d0 * (t(i-1, j) + t(i+1, j) + t(i, j-1) + t(i, j+1)) + 0.01d0 * source(i, j)
      end do
    end do
  end subroutine

  real(8) function residual()
    integer :: i, j
    residual = 0
    do j = 2, n - 1
      do i = 2, n - 1
        residual = residual + abs(next(i, j) - t(i, j))
      end do
    end do
  end function

  subroutine histogram(bins)
    integer(8), intent(inout) :: bins(:)
    integer :: i, j, b
    do j = 1, n
      do i = 1, n
        b = 1 + modulo(int(1d3 * log(1d0 + abs(t(i, j)))), size(bins))
        bins(b) = bins(b) + 1
      end do
    end do
  end subroutine
end module

program main
  use heat
  implicit none
  character(len=32) :: text
  real(8) :: scale, sum
  integer(8) :: bins(64)
  integer :: k
  scale = 1
  if (command_argument_count() > 0) then
    call get_command_argument(1, text)
    read (text, *) scale
  end if
  do k = 1, max(1, int(260 * scale))
    call set_sources(k)
  end do
  sum = 0
  do k = 1, int(11000 * scale)
    call jacobi_step()
    if (modulo(k, 10) == 0) sum = sum + residual()
    t = next
  end do
  bins = 0
  do k = 1, int(800 * scale)
    call histogram(bins)
  end do
  print '(a, es12.5, a, i0)', 'residual ', sum, ', fullest bin ', maxval(bins)
end program

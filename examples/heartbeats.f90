! Heartbeats of a Fortran program (about 3 s; the argument scales that, as in `heartbeats-f90 0.1`).
! N = max(1, int(2500 * argument)) sweeps over a grid. Beats:
!   1 sweep      N
!   2 residual   int(N / 10)    every tenth sweep
!   3 output     int(N / 10)    pulses
! Build and run:
!   gfortran -O2 $(incprof env --fflags) heartbeats.f90 $(incprof env --libs) -o heartbeats-f90
!   EKG_DIR=ekg ./heartbeats-f90 && incprof heartbeats ekg
program heartbeats
  use appekg
  implicit none
  integer, parameter :: n = 800, sweep_beat = 1, residual_beat = 2, output_beat = 3
  real(8), allocatable :: t(:, :), next(:, :)
  real(8) :: scale, left
  character(len=32) :: text
  integer :: k, steps

  scale = 1
  if (command_argument_count() > 0) then
    call get_command_argument(1, text)
    read (text, *) scale
  end if
  steps = max(1, int(2500 * scale))

  call ekg_init()
  call ekg_name(sweep_beat, 'sweep')
  call ekg_name(residual_beat, 'residual')
  call ekg_name(output_beat, 'output')

  allocate (t(n, n), next(n, n))
  call random_number(t)
  next = t
  left = 0
  do k = 1, steps
    call ekg_begin(sweep_beat)
    call sweep()
    if (modulo(k, 10) == 0) call ekg_pulse(output_beat)
    call ekg_end(sweep_beat)
    if (modulo(k, 10) == 0) left = residual()
    t = next
  end do
  print '(i0, a, l1)', steps, ' sweeps, residual is a number: ', left >= 0

contains

  subroutine sweep()
    integer :: i, j
    do j = 2, n - 1
      do i = 2, n - 1
        next(i, j) = 0.25d0 * (t(i-1, j) + t(i+1, j) + t(i, j-1) + t(i, j+1))
      end do
    end do
  end subroutine

  real(8) function residual()
    call ekg_begin(residual_beat)
    residual = sum(abs(next - t))
    call ekg_end(residual_beat)
  end function
end program

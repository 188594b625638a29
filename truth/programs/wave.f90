! A wave on a square membrane with absorbing edges, step after step: a program with one phase.
module membrane
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: n = 600
  real(real64) :: before(n, n), now(n, n), next(n, n), speed(n, n)

contains

  subroutine strike()
    integer :: i, j
    do j = 1, n
      do i = 1, n
        now(i, j) = exp(-((i - 200)**2 + (j - 300)**2) / 400.0_real64)
        speed(i, j) = merge(0.2_real64, 0.4_real64, i + j > n)
      end do
    end do
    before = now
  end subroutine strike

  ! One time step: the leapfrog scheme inside, then the edges, where the wave leaves.
  subroutine advance()
    integer :: i, j
    do j = 2, n - 1
      do i = 2, n - 1
        next(i, j) = 2 * now(i, j) - before(i, j) + speed(i, j) * &
                     (now(i - 1, j) + now(i + 1, j) + now(i, j - 1) + now(i, j + 1) - 4 * now(i, j))
      end do
    end do
    call absorb(next(1, :), next(2, :))
    call absorb(next(n, :), next(n - 1, :))
    call absorb(next(:, 1), next(:, 2))
    call absorb(next(:, n), next(:, n - 1))
    before = now
    now = next
  end subroutine advance

  subroutine absorb(edge, inner)
    real(real64), intent(inout) :: edge(:)
    real(real64), intent(in) :: inner(:)
    edge = 0.98_real64 * inner
  end subroutine absorb

end module membrane

program wave
  use membrane
  use truth_log
  implicit none
  integer :: step

  call strike()
  call truth_phase('advance')
  do step = 1, 1 + int(6500 * scale_argument())
    call advance()
  end do
  call truth_end()
  print '(a,es16.9)', 'wave: energy ', sum(now**2)
end program wave

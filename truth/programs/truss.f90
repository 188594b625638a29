! A lattice tower of bars: set-up, assembly, solution by Jacobi's iteration with momentum, output of the forces in the
! bars.
module tower
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: across = 30, floors = 60, nodes = across * across * floors, most = 26
  real(real64) :: at(3, nodes), u(3, nodes), u_before(3, nodes), stiffness(3, 3, 0:most, nodes)
  integer :: neighbours(nodes), neighbour(most, nodes)
  integer :: text_sum = 0

contains

  ! Every place of the lattice, shaken.
  subroutine place_floor(level)
    integer, intent(in) :: level
    integer :: i, j, n
    do j = 1, across
      do i = 1, across
        n = i + across * (j - 1 + across * (level - 1))
        at(:, n) = [i + 0.1_real64 * sin(7.0_real64 * n), j + 0.1_real64 * cos(5.0_real64 * n), real(level, real64)]
      end do
    end do
  end subroutine place_floor

  ! Whom each node is tied to: the nodes near it, on its own floor and the next ones.
  subroutine tie_floor(level)
    integer, intent(in) :: level
    integer :: n, m, first, last
    first = max(1, (level - 2) * across**2 + 1)
    last = min(nodes, (level + 1) * across**2)
    do n = (level - 1) * across**2 + 1, level * across**2
      neighbours(n) = 0
      do m = first, last
        if (m /= n .and. neighbours(n) < most) then
          if (sum((at(:, n) - at(:, m))**2) < 2.6_real64) then
            neighbours(n) = neighbours(n) + 1
            neighbour(neighbours(n), n) = m
          end if
        end if
      end do
    end do
  end subroutine tie_floor

  subroutine assemble_floor(level)
    integer, intent(in) :: level
    integer :: n, k
    do n = (level - 1) * across**2 + 1, level * across**2
      stiffness(:, :, 0, n) = 0
      do k = 1, neighbours(n)
        stiffness(:, :, k, n) = bar_stiffness(at(:, neighbour(k, n)) - at(:, n))
        stiffness(:, :, 0, n) = stiffness(:, :, 0, n) + stiffness(:, :, k, n)
      end do
    end do
  end subroutine assemble_floor

  ! A bar gets thinner to its ends: its stiffness by quadrature.
  function bar_stiffness(d) result(k)
    real(real64), intent(in) :: d(3)
    real(real64) :: k(3, 3), flexibility, length
    integer :: i, j, point
    length = norm2(d)
    flexibility = 0
    do point = 1, 10
      flexibility = flexibility + 0.1_real64 * length / (1 + sin(0.314_real64 * (point - 0.5_real64)))
    end do
    do j = 1, 3
      do i = 1, 3
        k(i, j) = d(i) * d(j) / (length**2 * flexibility)
      end do
    end do
  end function bar_stiffness

  subroutine solve(iterations)
    integer, intent(in) :: iterations
    integer :: iteration, n, k, d
    real(real64) :: force(3), next
    u = 0
    u_before = 0
    do iteration = 1, iterations
      do n = across**2 + 1, nodes
        force = [0.0_real64, 1e-3_real64, -1e-2_real64] - matmul(stiffness(:, :, 0, n), u(:, n))
        do k = 1, neighbours(n)
          force = force + matmul(stiffness(:, :, k, n), u(:, neighbour(k, n)))
        end do
        do d = 1, 3
          next = u(d, n) + 0.5_real64 * force(d) / stiffness(d, d, 0, n) + 0.4_real64 * (u(d, n) - u_before(d, n))
          u_before(d, n) = u(d, n)
          u(d, n) = next
        end do
      end do
    end do
  end subroutine solve

  subroutine write_floor(level)
    integer, intent(in) :: level
    character(60) :: line
    integer :: n, k
    do n = (level - 1) * across**2 + 1, level * across**2
      do k = 1, neighbours(n), 2
        write (line, '(2i8,es14.4)') n, neighbour(k, n), &
          norm2(matmul(stiffness(:, :, k, n), u(:, neighbour(k, n)) - u(:, n)))
        text_sum = mod(text_sum * 31 + ichar(line(20:20)) + ichar(line(23:23)), 1000003)
      end do
    end do
  end subroutine write_floor

end module tower

program truss
  use tower
  use truth_log
  implicit none
  integer :: i, rounds
  real(real64) :: scale

  scale = scale_argument()
  rounds = 1 + int(2 * scale)
  call truth_phase('setup')
  do i = 1, floors
    call place_floor(i)
  end do
  do i = 0, rounds * floors - 1
    call tie_floor(mod(i, floors) + 1)
  end do
  call truth_phase('assembly')
  do i = 0, 3 * rounds * floors - 1
    call assemble_floor(mod(i, floors) + 1)
  end do
  call truth_phase('solve')
  call solve(2 + int(120 * scale))
  call truth_phase('output')
  do i = 0, rounds * floors - 1
    call write_floor(mod(i, floors) + 1)
  end do
  call truth_end()
  print '(a,es14.7,a,i0)', 'truss: deflection ', maxval(abs(u)), ', output ', text_sum
end program truss

! Heat in a material that conducts better when it is hot: the load rises in steps, each solved by Newton's iteration. In
! every iteration the tangent is assembled and the linear system relaxed; after each load step the fluxes are recovered.
module conduction
  use, intrinsic :: iso_fortran_env, only: real64
  use truth_log
  implicit none
  integer, parameter :: n = 240
  real(real64) :: u(0:n + 1, 0:n + 1) = 0, du(0:n + 1, 0:n + 1), residual(n, n), tangent(5, n, n)
  real(real64) :: load, flux_sum = 0

contains

  subroutine solve_load_step(scale)
    real(real64), intent(in) :: scale
    integer :: iteration, round
    do iteration = 1, 2
      call truth_phase('tangent')
      do round = 1, 1 + int(36 * scale)
        call assemble_tangent()
      end do
      call truth_phase('relax')
      call relax(1 + int(900 * scale))
      u = u + du
    end do
    call truth_phase('recover')
    call recover_fluxes(1 + int(500 * scale))
    call truth_end()
  end subroutine solve_load_step

  subroutine assemble_tangent()
    integer :: i, j
    do j = 1, n
      do i = 1, n
        call cell_tangent(i, j)
      end do
    end do
  end subroutine assemble_tangent

  ! Conductivity averaged over each face by four points of quadrature.
  subroutine cell_tangent(i, j)
    integer, intent(in) :: i, j
    integer, parameter :: di(4) = [1, -1, 0, 0], dj(4) = [0, 0, 1, -1]
    real(real64) :: k, neighbour
    integer :: face
    residual(i, j) = load / n**2
    tangent(5, i, j) = 0
    do face = 1, 4
      neighbour = u(i + di(face), j + dj(face))
      k = mean_conductivity(u(i, j), neighbour)
      residual(i, j) = residual(i, j) + k * (neighbour - u(i, j))
      tangent(face, i, j) = k
      tangent(5, i, j) = tangent(5, i, j) + k
    end do
  end subroutine cell_tangent

  real(real64) function mean_conductivity(a, b)
    real(real64), intent(in) :: a, b
    real(real64), parameter :: points(4) = [0.0694_real64, 0.33_real64, 0.67_real64, 0.9306_real64]
    mean_conductivity = sum(1 + 0.5_real64 * sqrt(1 + (a + points * (b - a))**2) / (1 + exp(-a - points * (b - a)))) / 4
  end function mean_conductivity

  subroutine relax(sweeps)
    integer, intent(in) :: sweeps
    integer :: sweep, i, j
    du = 0
    do sweep = 1, sweeps
      do j = 1, n
        do i = 1, n
          du(i, j) = -0.5_real64 * du(i, j) + 1.5_real64 / tangent(5, i, j) * (residual(i, j) &
                     + tangent(1, i, j) * du(i + 1, j) + tangent(2, i, j) * du(i - 1, j) &
                     + tangent(3, i, j) * du(i, j + 1) + tangent(4, i, j) * du(i, j - 1))
        end do
      end do
    end do
  end subroutine relax

  subroutine recover_fluxes(points)
    integer, intent(in) :: points
    integer :: point, i, j
    real(real64) :: x, gradient
    do point = 1, points
      x = (point - 0.5_real64) / points
      do j = 1, n
        do i = 1, n
          gradient = hypot(u(i + 1, j) - u(i - 1, j) + x * u(i, j), u(i, j + 1) - u(i, j - 1))
          flux_sum = flux_sum + atan2(gradient, 1 + u(i, j)**2) / points
        end do
      end do
    end do
  end subroutine recover_fluxes

end module conduction

program newton
  use conduction
  implicit none
  integer :: step
  do step = 1, 4
    load = 8.0_real64 * step
    call solve_load_step(scale_argument())
  end do
  print '(a,es16.9,a,es16.9)', 'newton: hottest ', maxval(u), ', fluxes ', flux_sum
end program newton

! Electrons in a plane, particle in cell: the charge is deposited on a grid, the field solved there, the particles
! pushed by it, and their order kept: four steps of several milliseconds. Before that they are loaded, by rejection.
module plasma_model
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  integer, parameter :: n = 128, particles = 400000
  real(real64) :: x(2, particles), v(2, particles), x_old(2, particles), v_old(2, particles)
  real(real64) :: charge(n, n), potential(0:n + 1, 0:n + 1) = 0
  integer(int64) :: seed = 20011
  integer :: start(0:n * n) ! of the cells, in the order of particles

contains

  real(real64) function uniform()
    seed = mod(seed * 16807_int64, 2147483647_int64)
    uniform = real(seed, real64) / 2147483647.0_real64
  end function uniform

  ! Density and speed by rejection.
  subroutine load_particle(p)
    integer, intent(in) :: p
    integer :: d
    do
      x(:, p) = [uniform(), uniform()]
      if (uniform() < 0.1_real64 + sin(3.0_real64 * x(1, p))**2 * sin(3.0_real64 * x(2, p))**2) exit
    end do
    do d = 1, 2
      do
        v(d, p) = 8 * uniform() - 4
        if (uniform() < exp(-v(d, p)**2 / 2)) exit
      end do
    end do
    x(:, p) = x(:, p) * (n - 2) + 1
    v(:, p) = v(:, p) * 0.1_real64
  end subroutine load_particle

  subroutine deposit_charge()
    integer :: p, i, j
    real(real64) :: a, b
    charge = -real(particles, real64) / n**2
    do p = 1, particles
      i = int(x(1, p))
      j = int(x(2, p))
      a = x(1, p) - i
      b = x(2, p) - j
      charge(i, j) = charge(i, j) + (1 - a) * (1 - b)
      charge(i + 1, j) = charge(i + 1, j) + a * (1 - b)
      charge(i, j + 1) = charge(i, j + 1) + (1 - a) * b
      charge(i + 1, j + 1) = charge(i + 1, j + 1) + a * b
    end do
  end subroutine deposit_charge

  subroutine solve_field()
    integer :: sweep, i, j
    do sweep = 1, 120
      do j = 1, n
        do i = 1, n
          potential(i, j) = -0.9_real64 * potential(i, j) + 0.475_real64 * (charge(i, j) * 1e-3_real64 &
                            + potential(i - 1, j) + potential(i + 1, j) + potential(i, j - 1) + potential(i, j + 1))
        end do
      end do
    end do
  end subroutine solve_field

  subroutine push_particles()
    integer :: p, i, j, d
    do p = 1, particles
      i = int(x(1, p))
      j = int(x(2, p))
      v(1, p) = v(1, p) + 0.02_real64 * (potential(i + 1, j) - potential(i - 1, j))
      v(2, p) = v(2, p) + 0.02_real64 * (potential(i, j + 1) - potential(i, j - 1))
      do d = 1, 2
        x(d, p) = x(d, p) + 0.2_real64 * v(d, p)
        if (x(d, p) < 1 .or. x(d, p) >= n) then ! reflected
          x(d, p) = min(max(x(d, p), 1.0_real64), n - 1e-6_real64)
          v(d, p) = -v(d, p)
        end if
      end do
    end do
  end subroutine push_particles

  ! By cell, by counting.
  subroutine sort_particles()
    integer :: p, cell, at
    start = 0
    do p = 1, particles
      cell = int(x(1, p)) + n * (int(x(2, p)) - 1)
      start(cell) = start(cell) + 1
    end do
    do cell = 1, n * n
      start(cell) = start(cell) + start(cell - 1)
    end do
    x_old = x
    v_old = v
    do p = particles, 1, -1
      cell = int(x_old(1, p)) + n * (int(x_old(2, p)) - 1)
      at = start(cell)
      start(cell) = at - 1
      x(:, at) = x_old(:, p)
      v(:, at) = v_old(:, p)
    end do
  end subroutine sort_particles

end module plasma_model

program plasma
  use plasma_model
  use truth_log
  implicit none
  integer :: i
  real(real64) :: scale

  scale = scale_argument()
  call truth_phase('load')
  do i = 1, particles * (1 + int(8 * scale))
    call load_particle(mod(i, particles) + 1)
  end do
  call truth_phase('run')
  do i = 1, 1 + int(200 * scale)
    call sort_particles()
    call deposit_charge()
    call solve_field()
    call push_particles()
  end do
  call truth_end()
  print '(a,es14.7,a,es14.7)', 'plasma: kinetic ', sum(v**2), ', potential ', sum(abs(potential))
end program plasma

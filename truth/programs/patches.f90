! A front runs through a plane that is covered with patches, fine ones where the front is. Every time step exchanges the
! borders, computes the stencil and sums up; every now and then the plane is covered anew, which takes a while.
module amr
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: m = 32, side = 24, patches = side * side
  real(real64) :: cell(0:m + 1, 0:m + 1, patches), next(m, m, patches)
  real(real64) :: error(patches), total = 0
  integer :: level(patches) = 1

contains

  subroutine exchange_borders()
    integer :: p, i
    do p = 1, patches
      do i = 1, m
        cell(0, i, p) = cell(m, i, west(p))
        cell(m + 1, i, p) = cell(1, i, 1 + mod(p, patches))
        cell(i, 0, p) = cell(i, m, 1 + mod(p - 1 - side + patches, patches))
        cell(i, m + 1, p) = cell(i, 1, 1 + mod(p - 1 + side, patches))
      end do
    end do
  end subroutine exchange_borders

  pure integer function west(p)
    integer, intent(in) :: p
    west = 1 + mod(p - 2 + patches, patches)
  end function west

  ! Fine patches take as many smaller steps as their level says.
  subroutine compute_stencil()
    integer :: p, i, j, substep
    do p = 1, patches
      do substep = 1, level(p)
        do j = 1, m
          do i = 1, m
            next(i, j, p) = cell(i, j, p) + (0.2_real64 * (cell(i - 1, j, p) + cell(i + 1, j, p) + cell(i, j - 1, p) &
                            + cell(i, j + 1, p) - 4 * cell(i, j, p)) &
                            + 0.1_real64 * cell(i, j, p) * (1 - cell(i, j, p))) / level(p)
          end do
        end do
        cell(1:m, 1:m, p) = next(:, :, p)
      end do
    end do
  end subroutine compute_stencil

  subroutine check_sum()
    integer :: p, i, j
    real(real64) :: patch_sum
    do p = 1, patches
      patch_sum = 0
      do j = 1, m
        do i = 1, m
          patch_sum = patch_sum + sqrt(abs(cell(i, j, p))) * (1 - cell(i, j, p)**2)
        end do
      end do
      total = total + patch_sum * 1e-6_real64
    end do
  end subroutine check_sum

  ! Where the field bends: differences of higher order, over all directions in a patch.
  subroutine estimate_error(p)
    integer, intent(in) :: p
    integer :: i, j, angle
    real(real64) :: bend
    error(p) = 0
    do angle = 1, 50
      do j = 2, m - 1
        do i = 2, m - 1
          bend = (cell(i - 1, j, p) + cell(i + 1, j, p) - 2 * cell(i, j, p)) * cos(0.06_real64 * angle)**2 &
                 + (cell(i, j - 1, p) + cell(i, j + 1, p) - 2 * cell(i, j, p)) * sin(0.06_real64 * angle)**2
          error(p) = max(error(p), abs(bend))
        end do
      end do
    end do
  end subroutine estimate_error

  subroutine regrid()
    integer :: p
    do p = 1, patches
      call estimate_error(p)
      level(p) = merge(3, merge(2, 1, error(p) > 1e-4_real64), error(p) > 1e-2_real64)
    end do
  end subroutine regrid

end module amr

program patches_program
  use amr
  use truth_log
  implicit none
  integer :: cycle_number, step, pass
  real(real64) :: scale

  scale = scale_argument()
  cell = 0
  cell(10:20, 10:20, patches / 2) = 1
  do cycle_number = 1, 3
    call truth_phase('regrid')
    do pass = 1, 1 + int(16 * scale)
      call regrid()
    end do
    call truth_phase('steps')
    do step = 1, 1 + int(500 * scale)
      call exchange_borders()
      call compute_stencil()
      call check_sum()
    end do
  end do
  call truth_end()
  print '(a,es16.9,a,i0)', 'patches: sum ', total, ', levels ', sum(level)
end program patches_program

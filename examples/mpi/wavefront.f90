! Pipelined wavefronts on a grid of columns, with the communication of NPB's LU.
!
!   mpirun -n 4 wavefront POINTS STEPS [NORM]      POINTS along each side of a cube; NORM: a residual each so many steps
!
! Each rank has a column of the cube. A step exchanges its four sides, then sweeps through the planes from below: a rank
! waits for the values of the ranks in the north and west of it, computes the plane, and sends to the south and east.
! Then it sweeps from above in the opposite order. Messages are blocking, and there is no collective call but that for the
! residual, which comes in the last step unless NORM is given.
!
! The equation is a transport of five coupled quantities, implicit by one lower and one upper triangular factor. The
! solution is an exponential in each direction, whose values at the borders are given; its five amplitudes have a
! recurrence, and the result is compared with that at every point.
module columns
   use mpi
   implicit none
   integer, parameter :: real_kind = kind(1.0d0), quantities = 5
   real(real_kind), parameter :: damping = 0.05d0, diffusion = 0.05d0, speed = 0.4d0
   real(real_kind) :: coupling(quantities, quantities), source(quantities), growth(3)
   integer :: points, steps, norm_steps, rank, ranks, grid(2)
   integer :: north, south, west, east          ! neighbours, or MPI_PROC_NULL
   integer :: rows, lines, row_before, line_before
   real(real_kind), allocatable :: u(:, :, :, :), r(:, :, :, :)   ! quantity, row, line, plane; with a border of one
   real(real_kind), allocatable :: exponential(:, :)              ! index, direction
contains

   subroutine set_up()
      integer :: m, n, i, j, k
      rows = (row_at() + 1)*points/grid(1)
      row_before = row_at()*points/grid(1)
      rows = rows - row_before
      line_before = line_at()*points/grid(2)
      lines = (line_at() + 1)*points/grid(2) - line_before
      north = merge(rank - grid(2), MPI_PROC_NULL, row_at() > 0)
      south = merge(rank + grid(2), MPI_PROC_NULL, row_at() < grid(1) - 1)
      west = merge(rank - 1, MPI_PROC_NULL, line_at() > 0)
      east = merge(rank + 1, MPI_PROC_NULL, line_at() < grid(2) - 1)
      do n = 1, quantities
         source(n) = 0.01d0*n
         do m = 1, quantities
            coupling(m, n) = merge(1 + 0.1d0*m, 0.1d0/(1 + abs(m - n)), m == n)
         end do
      end do
      growth = exp([1.0d0, -1.0d0, 0.5d0]/points)
      allocate (exponential(0:points + 1, 3))
      do m = 1, 3
         do i = 0, points + 1
            exponential(i, m) = growth(m)**i
         end do
      end do
      allocate (u(quantities, 0:rows + 1, 0:lines + 1, 0:points + 1), r(quantities, 0:rows + 1, 0:lines + 1, 0:points + 1))
      do k = 0, points + 1
         do j = 0, lines + 1
            do i = 0, rows + 1
               do m = 1, quantities
                  u(m, i, j, k) = shape_at(i, j, k)/m
               end do
            end do
         end do
      end do
      r = 0
   end subroutine

   integer function row_at()
      row_at = rank/grid(2)
   end function

   integer function line_at()
      line_at = mod(rank, grid(2))
   end function

   real(real_kind) function shape_at(i, j, k)
      integer, intent(in) :: i, j, k
      shape_at = exponential(row_before + i, 1)*exponential(line_before + j, 2)*exponential(k, 3)
   end function

   ! Solve (1 + factor*coupling) x = right by elimination, in place.
   subroutine solve(factor, right)
      real(real_kind), intent(in) :: factor
      real(real_kind), intent(inout) :: right(quantities)
      real(real_kind) :: matrix(quantities, quantities), ratio
      integer :: m, pivot
      matrix = factor*coupling
      do m = 1, quantities
         matrix(m, m) = 1 + matrix(m, m)
      end do
      do pivot = 1, quantities
         do m = pivot + 1, quantities
            ratio = matrix(m, pivot)/matrix(pivot, pivot)
            matrix(m, pivot + 1:) = matrix(m, pivot + 1:) - ratio*matrix(pivot, pivot + 1:)
            right(m) = right(m) - ratio*right(pivot)
         end do
      end do
      do m = quantities, 1, -1
         right(m) = (right(m) - dot_product(matrix(m, m + 1:), right(m + 1:)))/matrix(m, m)
      end do
   end subroutine

   ! Values at the borders of the cube that an exponential of these amplitudes has.
   subroutine set_borders(field, amplitude, from, to)
      real(real_kind), intent(inout) :: field(quantities, 0:rows + 1, 0:lines + 1, 0:points + 1)
      real(real_kind), intent(in) :: amplitude(quantities)
      logical, intent(in) :: from, to          ! those before the first points, those after the last
      integer :: i, j, k
      do k = 0, points + 1
         do j = 0, lines + 1
            if (from .and. north == MPI_PROC_NULL) field(:, 0, j, k) = amplitude*shape_at(0, j, k)
            if (to .and. south == MPI_PROC_NULL) field(:, rows + 1, j, k) = amplitude*shape_at(rows + 1, j, k)
         end do
         do i = 0, rows + 1
            if (from .and. west == MPI_PROC_NULL) field(:, i, 0, k) = amplitude*shape_at(i, 0, k)
            if (to .and. east == MPI_PROC_NULL) field(:, i, lines + 1, k) = amplitude*shape_at(i, lines + 1, k)
         end do
      end do
      do j = 0, lines + 1
         do i = 0, rows + 1
            if (from) field(:, i, j, 0) = amplitude*shape_at(i, j, 0)
            if (to) field(:, i, j, points + 1) = amplitude*shape_at(i, j, points + 1)
         end do
      end do
   end subroutine

   ! Exchange the sides in the north and south: 5 numbers for each line and plane. As in LU, each call has its own line.
   subroutine exchange_rows()
      real(real_kind), dimension(quantities, lines, points) :: to_south, to_north, from_south, from_north
      integer :: requests(2), error, status(MPI_STATUS_SIZE)
      if (north /= MPI_PROC_NULL) call MPI_Irecv(from_north, size(from_north), MPI_DOUBLE_PRECISION, north, 1, &
                                                 MPI_COMM_WORLD, requests(1), error)
      if (south /= MPI_PROC_NULL) call MPI_Irecv(from_south, size(from_south), MPI_DOUBLE_PRECISION, south, 2, &
                                                 MPI_COMM_WORLD, requests(2), error)
      if (south /= MPI_PROC_NULL) then
         to_south = u(:, rows, 1:lines, 1:points)
         call MPI_Send(to_south, size(to_south), MPI_DOUBLE_PRECISION, south, 1, MPI_COMM_WORLD, error)
      end if
      if (north /= MPI_PROC_NULL) then
         to_north = u(:, 1, 1:lines, 1:points)
         call MPI_Send(to_north, size(to_north), MPI_DOUBLE_PRECISION, north, 2, MPI_COMM_WORLD, error)
         call MPI_Wait(requests(1), status, error)
         u(:, 0, 1:lines, 1:points) = from_north
      end if
      if (south /= MPI_PROC_NULL) then
         call MPI_Wait(requests(2), status, error)
         u(:, rows + 1, 1:lines, 1:points) = from_south
      end if
   end subroutine

   ! Exchange the sides in the west and east: 5 numbers for each row and plane.
   subroutine exchange_lines()
      real(real_kind), dimension(quantities, rows, points) :: to_east, to_west, from_east, from_west
      integer :: requests(2), error, status(MPI_STATUS_SIZE)
      if (west /= MPI_PROC_NULL) call MPI_Irecv(from_west, size(from_west), MPI_DOUBLE_PRECISION, west, 3, &
                                                MPI_COMM_WORLD, requests(1), error)
      if (east /= MPI_PROC_NULL) call MPI_Irecv(from_east, size(from_east), MPI_DOUBLE_PRECISION, east, 4, &
                                                MPI_COMM_WORLD, requests(2), error)
      if (east /= MPI_PROC_NULL) then
         to_east = u(:, 1:rows, lines, 1:points)
         call MPI_Send(to_east, size(to_east), MPI_DOUBLE_PRECISION, east, 3, MPI_COMM_WORLD, error)
      end if
      if (west /= MPI_PROC_NULL) then
         to_west = u(:, 1:rows, 1, 1:points)
         call MPI_Send(to_west, size(to_west), MPI_DOUBLE_PRECISION, west, 4, MPI_COMM_WORLD, error)
         call MPI_Wait(requests(1), status, error)
         u(:, 1:rows, 0, 1:points) = from_west
      end if
      if (east /= MPI_PROC_NULL) then
         call MPI_Wait(requests(2), status, error)
         u(:, 1:rows, lines + 1, 1:points) = from_east
      end if
   end subroutine

   ! The right-hand side of all points. amplitude: that of u; then that of the right-hand side.
   subroutine right_hand_side(amplitude)
      real(real_kind), intent(inout) :: amplitude(quantities)
      integer :: i, j, k
      call set_borders(u, amplitude, .true., .true.)
      call exchange_rows()
      call exchange_lines()
      do k = 1, points
         do j = 1, lines
            do i = 1, rows
               r(:, i, j, k) = source*shape_at(i, j, k) - damping*u(:, i, j, k) + diffusion*( &
                               u(:, i - 1, j, k) + u(:, i + 1, j, k) + u(:, i, j - 1, k) + u(:, i, j + 1, k) + &
                               u(:, i, j, k - 1) + u(:, i, j, k + 1) - 6*u(:, i, j, k))
            end do
         end do
      end do
      amplitude = source + (diffusion*sum(growth - 2 + 1/growth) - damping)*amplitude
   end subroutine

   ! Sweep through all planes, from below (direction 1) or from above (-1). amplitude: that of r before; then that after.
   subroutine sweep(direction, amplitude)
      integer, intent(in) :: direction
      real(real_kind), intent(inout) :: amplitude(quantities)
      integer :: i, j, k, first(2), last(2), along, beside, error, tag, status(MPI_STATUS_SIZE)
      real(real_kind) :: side(quantities, max(rows, lines))
      integer :: before(2), after(2)
      call solve(speed*(3 - sum(growth**(-direction))), amplitude)
      call set_borders(r, amplitude, direction == 1, direction == -1)
      tag = 5
      if (direction == 1) then
         first = 1
         last = [rows, lines]
         before = [north, west]
         after = [south, east]
      else
         first = [rows, lines]
         last = 1
         before = [south, east]
         after = [north, west]
         tag = 7
      end if
      along = first(1) - direction
      beside = first(2) - direction
      do k = merge(1, points, direction == 1), merge(points, 1, direction == 1), direction
         if (before(1) /= MPI_PROC_NULL) then
            call MPI_Recv(side, quantities*lines, MPI_DOUBLE_PRECISION, before(1), tag, MPI_COMM_WORLD, status, error)
            r(:, along, 1:lines, k) = side(:, 1:lines)
         end if
         if (before(2) /= MPI_PROC_NULL) then
            call MPI_Recv(side, quantities*rows, MPI_DOUBLE_PRECISION, before(2), tag + 1, MPI_COMM_WORLD, status, error)
            r(:, 1:rows, beside, k) = side(:, 1:rows)
         end if
         do j = first(2), last(2), direction
            do i = first(1), last(1), direction
               r(:, i, j, k) = r(:, i, j, k) + speed*matmul(coupling, &
                               r(:, i - direction, j, k) + r(:, i, j - direction, k) + r(:, i, j, k - direction))
               call solve(3*speed, r(:, i, j, k))
            end do
         end do
         if (after(1) /= MPI_PROC_NULL) then
            side(:, 1:lines) = r(:, last(1), 1:lines, k)
            call MPI_Send(side, quantities*lines, MPI_DOUBLE_PRECISION, after(1), tag, MPI_COMM_WORLD, error)
         end if
         if (after(2) /= MPI_PROC_NULL) then
            side(:, 1:rows) = r(:, 1:rows, last(2), k)
            call MPI_Send(side, quantities*rows, MPI_DOUBLE_PRECISION, after(2), tag + 1, MPI_COMM_WORLD, error)
         end if
      end do
   end subroutine

   ! Sums over all ranks of the squares of the last changes.
   subroutine residual(norms)
      real(real_kind), intent(out) :: norms(quantities)
      real(real_kind) :: mine(quantities)
      integer :: m, error
      do m = 1, quantities
         mine(m) = sum(r(m, 1:rows, 1:lines, 1:points)**2)
      end do
      call MPI_Allreduce(mine, norms, quantities, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
   end subroutine

   integer function checked(amplitude, change, norms)
      real(real_kind), intent(in) :: amplitude(quantities), change(quantities), norms(quantities)
      real(real_kind) :: mine(2), all(2), off(quantities), squares
      integer :: i, j, k, error
      mine = 0
      do k = 1, points
         do j = 1, lines
            do i = 1, rows
               off = abs(u(:, i, j, k)/(amplitude*shape_at(i, j, k)) - 1)
               mine(1) = mine(1) + sum(u(:, i, j, k)**2)
               if (.not. all_at_most(off, mine(2))) mine(2) = maxval(off)
               if (any(off /= off)) mine(2) = huge(1.0d0)
            end do
         end do
      end do
      call MPI_Allreduce(mine(1), all(1), 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
      call MPI_Allreduce(mine(2), all(2), 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
      squares = product(sum(exponential(1:points, :)**2, dim=1))
      all(2) = max(all(2), abs(all(1)/(squares*sum(amplitude**2)) - 1))
      if (mod(steps, norm_steps) == 0) all(2) = max(all(2), maxval(abs(norms/(squares*change**2) - 1)))
      checked = merge(0, 1, all(2) <= 1d-9)
      if (rank == 0) print '(a, es16.10, a, es7.1, a)', 'wavefront: checksum ', all(1), ', error ', all(2), &
         trim(merge(': verified', ': WRONG   ', checked == 0))
   end function

   logical function all_at_most(values, limit)
      real(real_kind), intent(in) :: values(:), limit
      all_at_most = all(values <= limit)
   end function

   ! Return a positive integer argument; the default if there is none, 0 if it is no such number.
   integer function argument(at, default)
      integer, intent(in) :: at, default
      character(len=32) :: text
      integer :: bad
      argument = default
      if (at > command_argument_count()) return
      call get_command_argument(at, text)
      read (text, *, iostat=bad) argument
      if (bad /= 0 .or. argument < 1 .or. verify(trim(text), '0123456789') /= 0) argument = 0
   end function
end module

program wavefront
   use columns
   implicit none
   real(real_kind) :: amplitude(quantities), change(quantities), norms(quantities)
   integer :: error, step, outcome
   call MPI_Init(error)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
   points = argument(1, 0)
   steps = argument(2, 0)
   norm_steps = argument(3, steps)
   grid = 0
   call MPI_Dims_create(ranks, 2, grid, error)
   outcome = 0
   if (min(points, steps, norm_steps) < 1 .or. command_argument_count() > 3 .or. points > 2000) then
      if (rank == 0) write (0, '(a)') 'usage: wavefront POINTS STEPS [NORM]'
      outcome = 2
   else if (points < maxval(grid)) then
      if (rank == 0) write (0, '(a, i0, a)') 'wavefront: needs at least ', maxval(grid), ' points a side'
      outcome = 2
   else
      call set_up()
      amplitude = [(1d0/step, step=1, quantities)]
      norms = 0
      call MPI_Barrier(MPI_COMM_WORLD, error)
      do step = 1, steps
         change = amplitude
         call right_hand_side(change)
         call sweep(1, change)
         call sweep(-1, change)
         u(:, 1:rows, 1:lines, 1:points) = u(:, 1:rows, 1:lines, 1:points) + r(:, 1:rows, 1:lines, 1:points)
         amplitude = amplitude + change
         if (mod(step, norm_steps) == 0) call residual(norms)
      end do
      outcome = checked(amplitude, change, norms)
   end if
   call MPI_Finalize(error)
   if (outcome /= 0) call exit(outcome)
end program

! The log of a program's true phases, to the file that TRUTH_LOG names; without it, nothing. The contract: README.md.
!
!     call truth_phase('assemble')   the phase from here on; ends the one before
!     call truth_end()               no phase from here on; before the program's end, what is in memory is written here
!     call truth_rank(rank)          right after mpi_init: the file gets the suffix .RANK
!
! Compiled by itself and never with -pg: gfortran has no attribute that would keep single procedures out of a profile.
module truth_log
  use, intrinsic :: iso_c_binding, only: c_int, c_long
  use, intrinsic :: iso_fortran_env, only: real64, error_unit
  implicit none
  private
  public :: truth_phase, truth_end, truth_rank, scale_argument

  integer, parameter :: max_lines = 4096
  integer(c_int), parameter :: clock_monotonic = 1

  type, bind(c) :: timespec
    integer(c_long) :: sec, nsec
  end type timespec

  interface
    integer(c_int) function clock_gettime(clock, now) bind(c)
      import :: c_int, timespec
      integer(c_int), value :: clock
      type(timespec), intent(out) :: now
    end function clock_gettime
  end interface

  character(4096) :: path = ''
  character(64) :: names(max_lines), open_name = ''
  real(real64) :: begins(max_lines), ends(max_lines), open_begin
  integer :: lines = 0, rank_suffix = -1
  logical :: started = .false., written = .false.

contains

  subroutine truth_phase(name)
    character(*), intent(in) :: name
    if (.not. started) call get_environment_variable('TRUTH_LOG', path)
    started = .true.
    if (path == '') return
    call close_phase()
    open_name = name
    open_begin = now_s()
  end subroutine truth_phase

  subroutine truth_end()
    if (path == '') return
    call close_phase()
    call flush_lines()
  end subroutine truth_end

  subroutine truth_rank(rank)
    integer, intent(in) :: rank
    rank_suffix = rank
  end subroutine truth_rank

  ! The first argument: how long the run takes, 1 being the default.
  real(real64) function scale_argument()
    character(32) :: argument
    scale_argument = 1
    call get_command_argument(1, argument)
    if (argument /= '') read (argument, *) scale_argument
  end function scale_argument

  subroutine close_phase()
    if (open_name == '') return
    if (lines == max_lines) call flush_lines()
    lines = lines + 1
    names(lines) = open_name
    begins(lines) = open_begin
    ends(lines) = now_s()
    open_name = ''
  end subroutine close_phase

  ! The file starts anew with the first lines, and grows by the following ones.
  subroutine flush_lines()
    character(4120) :: file
    character(7) :: how
    integer :: unit, i, status
    file = path
    if (rank_suffix >= 0) write (file, '(a,".",i0)') trim(path), rank_suffix
    how = merge('append', 'rewind', written)
    open (newunit=unit, file=trim(file), status=trim(merge('old    ', 'replace', written)), position=how, iostat=status)
    if (status /= 0) then
      write (error_unit, '(3a)') trim(file), ': ', 'cannot be written'
      return
    end if
    do i = 1, lines
      write (unit, '(f0.9,1x,f0.9,1x,a)') begins(i), ends(i), trim(names(i))
    end do
    close (unit)
    written = .true.
    lines = 0
  end subroutine flush_lines

  real(real64) function now_s()
    type(timespec) :: now
    if (clock_gettime(clock_monotonic, now) /= 0) error stop 'truth_log: no clock'
    now_s = real(now%sec, real64) + 1e-9_real64 * real(now%nsec, real64)
  end function now_s

end module truth_log

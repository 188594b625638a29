! Tell incprof selfanalyze about the loops of a program: see selfanalyze.h. Compiled with the program; the calls do
! nothing where the library is not there.
module selfanalyze
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: sa_region_begin, sa_iteration, sa_region_end

  abstract interface
    subroutine named(name) bind(c)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine named_with_number(name, number) bind(c)
      import :: c_char, c_long
      character(kind=c_char), intent(in) :: name(*)
      integer(c_long), value :: number
    end subroutine
  end interface

  interface
    function dlsym(handle, name) bind(c, name='dlsym') result(found)
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: found
    end function
  end interface

contains

  ! A loop begins; iterations: how many there will be in the whole run, or 0.
  subroutine sa_region_begin(name, iterations)
    character(*), intent(in) :: name
    integer, intent(in) :: iterations
    type(c_funptr) :: found
    procedure(named_with_number), pointer :: call_it
    found = dlsym(c_null_ptr, 'sa_region_begin' // c_null_char)
    if (.not. c_associated(found)) return
    call c_f_procpointer(found, call_it)
    call call_it(trim(name) // c_null_char, int(iterations, c_long))
  end subroutine

  ! An iteration of it begins, and with it the loop, if it has not.
  subroutine sa_iteration(name)
    character(*), intent(in) :: name
    call by_name('sa_iteration', name)
  end subroutine

  ! The loop has ended, and with it its last iteration.
  subroutine sa_region_end(name)
    character(*), intent(in) :: name
    call by_name('sa_region_end', name)
  end subroutine

  subroutine by_name(function, name)
    character(*), intent(in) :: function, name
    type(c_funptr) :: found
    procedure(named), pointer :: call_it
    found = dlsym(c_null_ptr, function // c_null_char)
    if (.not. c_associated(found)) return
    call c_f_procpointer(found, call_it)
    call call_it(trim(name) // c_null_char)
  end subroutine
end module

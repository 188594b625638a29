! Submodules, and units that end with no more than END.
module parts
  use ticks
  implicit none
  interface
    module subroutine one(n)
      integer, intent(in) :: n
    end subroutine
    module function two(n) result(r)
      integer, intent(in) :: n
      integer :: r
    end function
  end interface
end

submodule (parts) made
contains
  module procedure one ! @one
    call tick('one')
    call own(n)
  contains
    subroutine inner ! @inner
      call tick('inner')
    end
  end procedure
  module function two(n) result(r) ! @two
    integer, intent(in) :: n
    integer :: r
    call tick('two')
    r = n; if (n > 1) return; r = 0
  end
  subroutine own(n) ! @own
    integer, intent(in) :: n
    call tick('own')
    if (n > 0) stop 0
  end
end

subroutine alone(n) bind(C, name='alone_') ! @alone
  use ticks
  use, intrinsic :: iso_c_binding, only: c_int
  integer(c_int), value :: n
  call tick('alone')
  if (n > 0) return
  call tick('never')
end

  use parts ! the program has no header
  implicit none
  integer :: i
  interface
    subroutine alone(n) bind(C, name='alone_')
      use, intrinsic :: iso_c_binding, only: c_int
      integer(c_int), value :: n
    end subroutine
  end interface
  do i = 1, 3 ! @loop
    call tick('loop')
    call one(0)
    print *, two(i)
  end do
  call alone(1)
  call report()
  if (i == 4) stop
  call one(1)
end

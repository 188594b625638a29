! Counts what runs, by name; the heartbeats of a program must count the same.
module ticks
  implicit none
  character(len=24) :: names(200) = ' '
  integer :: counts(200) = 0
  integer :: known = 0
contains
  subroutine tick(name)
    character(len=*), intent(in) :: name
    integer :: i
    do i = 1, known
      if (names(i) == name) then
        counts(i) = counts(i) + 1
        return
      end if
    end do
    known = known + 1
    names(known) = name
    counts(known) = 1
  end subroutine

  subroutine report()
    integer :: i
    do i = 1, known
      print '(a, a, 1x, i0)', '@', trim(names(i)), counts(i)
    end do
  end subroutine
end module

! What a preprocessor takes out and leaves, in free form: compiled with -DA and without.
#define SQUARE(x) ((x)*(x))
#ifdef A
subroutine header(n)
#else
subroutine header(n) bind(c)
#endif
  integer, value :: n
  print *, n
end subroutine

subroutine body(n, sum) ! @body
  use ticks
  implicit none
  integer, intent(in) :: n
  integer, intent(inout) :: sum
#ifdef A
  integer :: more
#endif
  integer :: i
#include "shared.inc"
#ifdef A
  more = 3
#endif
  call tick('body')
  do i = 1, n ! @loop
    call tick('loop')
#ifdef A
    if (i == more) cycle
#else
    if (i == 2) exit ! 'not a string
#endif
    sum = sum + SQUARE(i)
  end do
#ifdef A
  do i = 1, n
#else
  do i = 1, 2 * n
#endif
    sum = sum + 1
  end do
#ifdef A
  if (sum > 0) return
#else
  return
#endif
  call tick('never')
end subroutine

subroutine split(n, &
#ifdef A
    more, &
#endif
    last)
  print *, n, last
end subroutine

subroutine leaves(n)
  if (n > 2) &
#ifdef A
    print *, n
#else
    return
#endif
end subroutine

subroutine inside(sum)
  implicit none
  integer, intent(inout) :: sum
#ifdef A
  integer :: i
  i = 4
  sum = sum + i
#else
  sum = 0
#endif
end subroutine

subroutine only(sum) ! @only
  use ticks
  implicit none
  integer, intent(inout) :: sum
#ifdef A
  integer :: i
  call tick('only')
  if (sum < 0) return
#ifdef B
  return
#endif
  i = 4
  sum = sum + i
#endif
end subroutine

program conditions ! @conditions
#ifdef A
  use ticks
#else
  use ticks, only: tick, &
#ifdef B
    & names, &
#endif
    & report
#endif
  implicit none
  integer :: sum
  call tick('conditions')
  sum = 0
  call body(4, sum)
  call inside(sum)
  call only(sum)
  print *, sum, 'a // b', "it's"
  call report()
end program

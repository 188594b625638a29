! Every way out of a procedure and of a loop, in free form. What a comment with @ names, ticks; see ticks.f90.
module work
  use ticks
  implicit none
  integer, parameter :: most = 4
  interface twice
    module procedure twice_i, twice_r
  end interface
  type :: box
    integer :: held = 0
  contains
    procedure :: add => box_add
    procedure, nopass :: empty
  end type
contains
  subroutine early(n, answer) ! @early
    integer, intent(in) :: n
    integer, intent(out) :: answer

    call tick('early')
    answer = 0
    if (n == 1) return
    if (n == 2) return; answer = 1
    if (n == 3 .and. &
        answer == 1) & ! a comment
        return
    if (n == 4) then; answer = 2; return; end if
    if (n == 5) ret&
      &urn
    if (n == 6) goto 90
    select case (n)
    case (7)
      answer = 7
      return
    case default
      block
        integer :: k
        k = n
        if (k == 8) return ! from a block
        if (k == 9) goto 80
      end block
    end select
    answer = 10
    return
80  return
90  continue
  end subroutine early

  integer function twice_i(x) result(y) ! @twice_i
    integer, intent(in) :: x
    call tick('twice_i')
    y = 2 * x
  end

  function twice_r(x) ! @twice_r
    real, intent(in) :: x
    real :: twice_r
    real :: half, f
    f(half) = 4 * half
    call tick('twice_r')
    twice_r = f(x / 2); if (x < 0) return
    end function

  recursive integer function depth(n) result(d) ! @depth
    integer, intent(in) :: n
    call tick('depth')
    d = 0; if (n == 0) return
    d = 1 + depth(n - 1)
  end function depth

  subroutine alternate(n, *, *) ! @alternate
    integer, intent(in) :: n
    call tick('alternate')
    if (n == 1) return 1
    if (n == 2) return n
  end subroutine

  subroutine box_add(self, n) ! @box_add
    class(box), intent(inout) :: self
    integer, intent(in) :: n
    call tick('box_add')
    self%held = self%held + n
  end subroutine

  subroutine empty() ! @empty
    call tick('empty')
  end subroutine

  pure integer function plain(x)
    integer, intent(in) :: x
    plain = x + 1
  end function

  impure elemental subroutine each(x) ! @each
    integer, intent(inout) :: x
    call tick('each')
    x = x + 1
  end subroutine

  subroutine several(n, sum) ! @several
    integer :: n, sum
    integer :: inside
    call tick('several')
    inside = n
    sum = sum + inside
    return
    entry other(n, sum)
    call tick('several')
    inside = 2 * n
    if (n > 3) return
    sum = sum + inside
  end subroutine several

  subroutine host(n, sum) ! @host
    integer, intent(in) :: n
    integer, intent(inout) :: sum
    integer :: i
    call tick('host')
    do i = 1, n ! @host_loop
      call tick('host_loop')
      call inner(i)
    end do
  contains
    subroutine inner(k) ! @inner
      integer, intent(in) :: k
      call tick('inner')
      if (k > most) return
      sum = sum + k
    end subroutine inner
    integer function unused()
      unused = 1
    end function
  end subroutine host

  subroutine loops(n, sum) ! @loops
    integer, intent(in) :: n
    integer, intent(inout) :: sum
    integer :: i, j, k
    real :: x
    call tick('loops')
    outer: do i = 1, n ! @outer
      call tick('outer')
      middle: do j = 1, n ! @middle
        call tick('middle')
        if (j == 2) cycle
        if (j == 3 .and. i == 1) cycle outer
        if (i == 4) exit middle
        if (i == 6) exit outer
        do k = 1, 3 ! @innermost
          call tick('innermost')
          if (k == 2) cycle middle
          sum = sum + 1
          if (i == 5) exit outer
        end do
      end do middle
    end do outer
    do while (sum < 1000) ! @while
      call tick('while')
      sum = sum + 100
      if (sum > 900) exit
    end do
    do ! @forever
      call tick('forever')
      sum = sum - 1
      if (mod(sum, 7) == 0) exit
      chosen: if (mod(sum, 2) == 0) then
        if (mod(sum, 3) == 0) exit chosen
        cycle
      end if chosen
    end do
    do i = 1, 3; call tick('line'); if (i == 2) cycle; sum = sum + i; end do ! @line
    do i = 1, 3 ! @joined
      call tick('joined'); if (i == 1) cycle
      sum = sum + 1; end do
    do 10 i = 1, 4 ! @labelled
      call tick('labelled')
      if (i == 2) goto 10
      if (i == 4) go to 20
      sum = sum + 1
10  continue
20  do i = 1, 5 ! @numbered
      call tick('numbered')
      if (i == 1) goto 30
      if (i == 3) goto 40
      sum = sum + 1
30  end do
40  do 50 i = 1, 3
    do 50 j = 1, 3 ! @shared
      call tick('shared')
      if (j == i) goto 50
      sum = sum + 1
50  continue
    do concurrent (i = 1:3)
      x = real(i)
    end do
    do i = 1, 0 ! never
      sum = 0
    end do
    do i = 1, 3 ! @returns
      call tick('returns')
      associate (twice_i => 2 * i)
        do j = 1, 2 ! @returns_inner
          call tick('returns_inner')
          if (twice_i + j == 5) return
        end do
      end associate
    end do
  end subroutine loops

  subroutine reading(sum) ! @reading
    integer, intent(inout) :: sum
    integer :: value, unit
    character(len=8) :: lines(3) = ['1       ', '2       ', 'x       ']
    call tick('reading')
    unit = 0
    do value = 1, 3
      read (lines(value), *, err=10) unit
      sum = sum + unit
    end do
10  do value = 1, 3 ! @computed
      call tick('computed')
      go to (11, 12), value
      sum = sum + 1
11    sum = sum + 1
12    if (value - 2) 13, 13, 14
13    sum = sum + 1
14    continue
    end do
  end subroutine

  subroutine words(sum) ! @words
    integer, intent(inout) :: sum
    integer :: do, if, end, return_value, call, enddo, exit(3), cycle
    character(len=60) :: text
    call tick('words')
    do = 1; if = 2
    end = 3
    exit(1) = 4; exit(2) = 5
    cycle = 6
    call = 7
    enddo = 8
    return_value = do + if + end + exit(1) + cycle + call + enddo + exit(2)
    text = 'it''s "return" ; end subroutine & ! no comment'
    text = "a string that goes on &
      &and holds return; call ekg_end(1_4)"
    if (if > 1) if = 0
    sum = sum + return_value + len_trim(text) + if
  end subroutine
end module work

program main ! @main
  use work
  implicit none
  integer :: i, sum, values(3)
  type(box) :: one
  call tick('main')
  sum = 0
  do i = 1, 12 ! @main_loop
    call tick('main_loop')
    call early(i, values(1))
    sum = sum + values(1) + twice(i) + int(twice(real(i - 3))) + plain(i)
    call alternate(mod(i, 3), *10, *20)
    sum = sum + 1
    cycle
10  sum = sum + 10
    cycle
20  sum = sum + 20
  end do
  sum = sum + depth(5)
  values = [1, 2, 3]
  call each(values)
  do i = 1, 5
    call several(i, sum)
    call other(i, sum)
  end do
  call host(6, sum)
  call loops(7, sum)
  call reading(sum)
  call words(sum)
  call one%add(3)
  call one%empty()
  call later(sum)
  print *, sum, one%held, values
  call report()
  if (sum /= 0) stop
contains
  subroutine later(n) ! @later
    integer, intent(inout) :: n
    call tick('later')
    n = n + 1
  end subroutine
end program

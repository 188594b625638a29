! Time steps, in each a conjugate-gradient solver that stops where its residual is small: after another number of
! iterations in each. Prints how many there were.
module linear
  implicit none
  integer, parameter :: n = 24
contains
  subroutine matvec(k, x, y)
    real(8), intent(in) :: k, x(0:n+1, 0:n+1)
    real(8), intent(inout) :: y(0:n+1, 0:n+1)
    integer :: j
    !$omp parallel do
    do j = 1, n
      y(1:n, j) = (1 + 4*k)*x(1:n, j) - k*(x(0:n-1, j) + x(2:n+1, j) + x(1:n, j-1) + x(1:n, j+1))
    end do
  end subroutine

  real(8) function dot(x, y)
    real(8), intent(in) :: x(0:n+1, 0:n+1), y(0:n+1, 0:n+1)
    integer :: j
    dot = 0
    !$omp parallel do reduction(+:dot)
    do j = 1, n
      dot = dot + sum(x(1:n, j)*y(1:n, j))
    end do
  end function

  subroutine add(x, a, y)
    real(8), intent(inout) :: x(0:n+1, 0:n+1)
    real(8), intent(in) :: a, y(0:n+1, 0:n+1)
    integer :: j
    !$omp parallel do
    do j = 1, n
      x(1:n, j) = x(1:n, j) + a*y(1:n, j)
    end do
  end subroutine

  subroutine solve(k, b, x, iterations)
    real(8), intent(in) :: k, b(0:n+1, 0:n+1)
    real(8), intent(inout) :: x(0:n+1, 0:n+1)
    integer, intent(inout) :: iterations
    real(8) :: r(0:n+1, 0:n+1), p(0:n+1, 0:n+1), q(0:n+1, 0:n+1), rr, next, a
    q = 0
    call matvec(k, x, q)
    r = b
    call add(r, -1d0, q)
    p = r
    rr = dot(r, r)
    do while (rr > 1d-12*sum(b*b))
      call matvec(k, p, q)
      a = rr/dot(p, q)
      call add(x, a, p)
      call add(r, -a, q)
      next = dot(r, r)
      p = r + next/rr*p
      rr = next
      iterations = iterations + 1
    end do
  end subroutine
end module

program heat
  use linear
  implicit none
  real(8) :: x(0:n+1, 0:n+1), b(0:n+1, 0:n+1)
  integer :: step, steps, i, iterations
  character(20) :: word
  call get_command_argument(1, word)
  read (word, *) steps
  x = 0
  b = 0
  iterations = 0
  do step = 1, steps
    !$omp parallel do
    do i = 1, n
      b(1:n, i) = x(1:n, i) + 1 + sin(0.37d0*step*i)
    end do
    call solve(5 + 4*sin(0.3d0*step), b, x, iterations)
  end do
  print '(a, 1x, i0)', 'solver', iterations
end program

! OpenMP: where beats may go, and where they may not.
subroutine work(n, sum) ! @work
  use ticks
!$ use omp_lib
  implicit none
  integer, intent(in) :: n
  integer, intent(inout) :: sum
  integer :: i, j
  integer, save :: kept = 0
!$omp threadprivate(kept)
!$ integer :: thread
!$ thread = omp_get_thread_num()
!$ if (thread > 1000) then
!$   sum = sum - 1
!$ end if
  call tick('work')
!$omp parallel do private(i) &
!$omp   reduction(+:sum)
  do i = 1, n ! @parallel
!$omp critical
    call tick('parallel')
!$omp end critical
    if (mod(i, 2) == 0) cycle
    sum = sum + i
  end do
!$omp end parallel do
!$omp parallel do collapse(2) reduction(+:sum)
  do i = 1, 3
    do j = 1, 4 ! @collapsed
!$omp critical
      call tick('collapsed')
!$omp end critical
      sum = sum + j
    end do
  end do
!$omp simd reduction(+:sum)
  do i = 1, n
    sum = sum + i
  end do
!$acc parallel loop
  do i = 1, n
    sum = sum + i
  end do
!$omp single
  kept = kept + 1
!$omp end single
end subroutine

program directives ! @directives
  use ticks
  implicit none
  integer :: sum
  call tick('directives')
  sum = 0
  call work(8, sum)
  print *, sum
  call report()
end program

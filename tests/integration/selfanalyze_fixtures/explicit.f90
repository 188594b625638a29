! The same from Fortran.
program told
  use selfanalyze
  implicit none
  integer :: i, sum
  sum = 0
  call sa_region_begin('steps', 40)
  do i = 1, 40
    call sa_iteration('steps')
    !$omp parallel reduction(+:sum)
    sum = sum + 1
    !$omp end parallel
  end do
  call sa_region_end('steps')
  print '(a)', 'steps 40'
end program

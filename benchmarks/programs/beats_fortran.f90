! Pairs as a Fortran program makes them: calls of libappekg, nothing inlined.
subroutine fortran_pairs(id, count) bind(C)
  use, intrinsic :: iso_c_binding, only: c_int
  use appekg
  implicit none
  integer(c_int), value :: id, count
  integer :: i

  do i = 1, count
    call ekg_begin(id)
    call ekg_end(id)
  end do
end subroutine

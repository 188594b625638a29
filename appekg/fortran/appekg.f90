! AppEKG: heartbeats of a program's phases, for Fortran. docs/use/appekg.md, and appekg.h for what each call does.
!
!   use appekg
!   call ekg_begin(1)
!   ...
!   call ekg_end(1)
!
! Interfaces only: nothing but libappekg is linked. Ids are 0 to 2**31-1 here.
module appekg
  use, intrinsic :: iso_c_binding, only: c_double, c_int32_t, c_int64_t, c_null_ptr, c_ptr
  implicit none
  private
  public :: ekg_options, ekg_init, ekg_finalize, ekg_begin, ekg_end, ekg_pulse
  public :: ekg_name, ekg_rate, ekg_enable, ekg_disable, ekg_is_enabled

  ! Options of ekg_init; zero and null mean the default. The strings end with c_null_char.
  type, bind(C) :: ekg_options
    type(c_ptr) :: directory = c_null_ptr
    type(c_ptr) :: sinks = c_null_ptr
    real(c_double) :: interval_s = 0
    integer(c_int32_t) :: rate_factor = 0
    integer(c_int32_t) :: start_off = 0
    integer(c_int64_t) :: reserved(8) = 0
  end type

  interface
    ! Its result, whether heartbeats are recorded, is what ekg_is_enabled says afterwards.
    subroutine ekg_init(options) bind(C, name='ekg_init')
      import :: ekg_options
      type(ekg_options), intent(in), optional :: options
    end subroutine

    subroutine ekg_finalize() bind(C, name='ekg_finalize')
    end subroutine

    subroutine ekg_begin(id) bind(C, name='ekg_begin')
      import :: c_int32_t
      integer(c_int32_t), intent(in), value :: id
    end subroutine

    subroutine ekg_end(id) bind(C, name='ekg_end')
      import :: c_int32_t
      integer(c_int32_t), intent(in), value :: id
    end subroutine

    subroutine ekg_pulse(id) bind(C, name='ekg_pulse')
      import :: c_int32_t
      integer(c_int32_t), intent(in), value :: id
    end subroutine

    subroutine ekg_rate(id, factor) bind(C, name='ekg_rate')
      import :: c_int32_t
      integer(c_int32_t), intent(in), value :: id, factor
    end subroutine

    subroutine ekg_enable() bind(C, name='ekg_enable')
    end subroutine

    subroutine ekg_disable() bind(C, name='ekg_disable')
    end subroutine

    ! 1 when beats are recorded, 0 when not.
    function ekg_is_enabled() bind(C, name='ekg_is_enabled') result(enabled)
      import :: c_int32_t
      integer(c_int32_t) :: enabled
    end function

    ! No bind(C): the string comes with its length.
    subroutine ekg_name(id, name)
      import :: c_int32_t
      integer(c_int32_t), intent(in) :: id
      character(len=*), intent(in) :: name
    end subroutine
  end interface
end module appekg

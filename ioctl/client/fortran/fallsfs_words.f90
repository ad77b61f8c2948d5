! SPDX-License-Identifier: MIT
! What goes wrong, in words: who is given ierr and errmsg is told, and else the program ends. Part of the modules that
! programs use.
!
! errmsg is of characters. It is class(*), as are all texts that come behind memory of any type: where that is of
! characters, gfortran 12 hands its length over in place of the text's, and class(*) brings a length of its own.
module fallsfs_words
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, error_unit
  implicit none
  private

  integer(c_int), parameter, public :: EBADF = 9, EEXIST = 17, EINVAL = 22
  public :: tell, finish, finish_system, errno, text_at, text_of, c_text, decimal

  interface
    function c_strerror_last() bind(c, name='fallsfs_strerror_last') result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function

    function c_errno() bind(c, name='__errno_location') result(at)
      import :: c_ptr
      type(c_ptr) :: at
    end function

    function c_strerror(number) bind(c, name='strerror') result(text)
      import :: c_int, c_ptr
      integer(c_int), value :: number
      type(c_ptr) :: text
    end function

    function c_strlen(text) bind(c, name='strlen') result(len)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: len
    end function
  end interface

contains

  ! Tells the caller, or ends the program where nobody has asked.
  subroutine tell(number, words, ierr, errmsg)
    integer(c_int), intent(in) :: number
    character(len=*), intent(in) :: words
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    if (present(ierr)) ierr = number
    if (number == 0) return
    if (present(errmsg)) then
      select type (errmsg)
      type is (character(len=*))
        errmsg = words
      end select
    end if
    if (.not. present(ierr)) then
      write (error_unit, '(2a)') 'fallsfs: ', words
      flush (error_unit)
      error stop 1
    end if
  end subroutine

  ! The same of what a call of libfallsfs has returned.
  subroutine finish(r, ierr, errmsg)
    integer(c_int), intent(in) :: r
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    if (r < 0) then
      call tell(-r, text_at(c_strerror_last()), ierr, errmsg)
    else
      call tell(0, '', ierr, errmsg)
    end if
  end subroutine

  ! The same of a call of libc.
  subroutine finish_system(failed, what, ierr, errmsg)
    logical, intent(in) :: failed
    character(len=*), intent(in) :: what
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(c_int) :: number

    number = 0
    if (failed) number = errno()
    if (failed) then
      call tell(number, what // ': ' // text_at(c_strerror(number)), ierr, errmsg)
    else
      call tell(0, '', ierr, errmsg)
    end if
  end subroutine

  function errno() result(number)
    integer(c_int), pointer :: at
    integer(c_int) :: number

    call c_f_pointer(c_errno(), at)
    number = at
  end function

  function text_at(from) result(text)
    type(c_ptr), intent(in) :: from
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: at(:)
    integer(c_size_t) :: i, n

    n = c_strlen(from)
    call c_f_pointer(from, at, [n])
    allocate (character(len=n) :: text)
    do i = 1, n
      text(i:i) = at(i)
    end do
  end function

  ! What is given as a text; none, if it is of no characters.
  pure function text_of(given) result(text)
    class(*), intent(in) :: given
    character(len=:), allocatable :: text

    text = ''
    select type (given)
    type is (character(len=*))
      text = given
    end select
  end function

  ! A text as C has it.
  pure function c_text(text) result(chars)
    character(len=*), intent(in) :: text
    character(kind=c_char) :: chars(len(text) + 1)
    integer :: i

    do i = 1, len(text)
      chars(i) = text(i:i)
    end do
    chars(len(text) + 1) = c_null_char
  end function

  pure function decimal(number) result(text)
    integer(int64), intent(in) :: number
    character(len=:), allocatable :: text
    character(len=20) :: room

    write (room, '(i0)') number
    text = trim(room)
  end function
end module

! SPDX-License-Identifier: MIT
! Arrays and sections of them, as programs say them and as libfallsfs takes them: indices from 0, by columns.
module fallsfs_arrays
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use fallsfs_words
  implicit none
  private

  integer, parameter, public :: MAX_DIMS = 16, TYPE_SIZE = 16
  public :: fallsfs_section_count, say_array, say_section, says

  ! What a file holds. type is as numpy writes it, and may be empty.
  type, public :: fallsfs_array
    integer(int64) :: elem = 0, header = 0
    integer(int64), allocatable :: shape(:)
    character(len=TYPE_SIZE - 1) :: type = ''
  end type

  ! In each dimension lower, lower + stride, ... up to upper. Empty where lower is more than upper in any of them.
  type, public :: fallsfs_section
    integer(int64), allocatable :: lower(:), upper(:), stride(:)
  end type

  interface fallsfs_array
    procedure array_of_default, array_of_int64
  end interface
  interface fallsfs_section
    procedure section_of_default, section_of_int64
  end interface

  ! -- what libfallsfs takes --

  type, public, bind(c) :: c_array
    integer(c_int32_t) :: ndims = 0, order = 1 ! by columns
    integer(c_int64_t) :: elem = 0, header = 0
    integer(c_int64_t) :: size(MAX_DIMS) = 0
  end type

  type, public, bind(c) :: c_range
    integer(c_int64_t) :: lower = 0, upper = 0, stride = 1
  end type

  interface
    function c_section_bytes(array, section) bind(c, name='fallsfs_section_bytes') result(bytes)
      import :: c_array, c_range, c_int64_t
      type(c_array), intent(in) :: array
      type(c_range), intent(in) :: section(*)
      integer(c_int64_t) :: bytes
    end function
  end interface

contains

  pure function array_of_default(shape, elem, header, type) result(array)
    integer, intent(in) :: shape(:), elem
    integer, intent(in), optional :: header
    character(len=*), intent(in), optional :: type
    type(fallsfs_array) :: array

    allocate (array%shape, source=int(shape, int64)) ! gfortran 12 warns where it is assigned
    array%elem = int(elem, int64)
    if (present(header)) array%header = int(header, int64)
    if (present(type)) array%type = type
  end function

  pure function array_of_int64(shape, elem, header, type) result(array)
    integer(int64), intent(in) :: shape(:), elem
    integer(int64), intent(in), optional :: header
    character(len=*), intent(in), optional :: type
    type(fallsfs_array) :: array

    allocate (array%shape, source=shape)
    array%elem = elem
    if (present(header)) array%header = header
    if (present(type)) array%type = type
  end function

  pure function section_of_default(lower, upper, stride) result(section)
    integer, intent(in) :: lower(:), upper(:)
    integer, intent(in), optional :: stride(:)
    type(fallsfs_section) :: section

    allocate (section%lower, source=int(lower, int64))
    allocate (section%upper, source=int(upper, int64))
    if (present(stride)) allocate (section%stride, source=int(stride, int64))
  end function

  pure function section_of_int64(lower, upper, stride) result(section)
    integer(int64), intent(in) :: lower(:), upper(:)
    integer(int64), intent(in), optional :: stride(:)
    type(fallsfs_section) :: section

    allocate (section%lower, source=lower)
    allocate (section%upper, source=upper)
    if (present(stride)) allocate (section%stride, source=stride)
  end function

  ! How many elements a section has in each dimension: the shape of memory for it.
  pure function fallsfs_section_count(section) result(count)
    type(fallsfs_section), intent(in) :: section
    integer(int64) :: count(size(section%lower))
    integer :: i

    do i = 1, size(count)
      count(i) = max(section%upper(i) - section%lower(i) + 1, 0_int64)
      if (allocated(section%stride)) count(i) = (count(i) + section%stride(i) - 1) / section%stride(i)
    end do
  end function

  ! Says an array as libfallsfs takes it; why is what is wrong with it.
  subroutine say_array(array, to, why)
    type(fallsfs_array), intent(in) :: array
    type(c_array), intent(out) :: to
    character(len=:), allocatable, intent(out) :: why
    integer :: n

    if (.not. allocated(array%shape)) then
      why = 'nobody has said what array this is: name it when the file is opened, or see fallsctl array set'
      return
    end if
    n = size(array%shape)
    if (n < 1 .or. n > MAX_DIMS) then
      why = 'an array has 1 to 16 dimensions'
    else if (any(array%shape < 1) .or. array%elem < 1 .or. array%header < 0) then
      why = 'dimensions and elements of an array are at least 1, its header is no less than 0'
    else
      to%ndims = n
      to%elem = array%elem
      to%header = array%header
      to%size(:n) = array%shape
    end if
  end subroutine

  ! Says a section, or without one all of the array; an empty section in the one way that fits everywhere.
  subroutine say_section(array, section, to, why)
    type(fallsfs_array), intent(in) :: array
    type(fallsfs_section), intent(in), optional :: section
    type(c_range), intent(out) :: to(MAX_DIMS)
    character(len=:), allocatable, intent(out) :: why
    integer :: n

    n = size(array%shape)
    if (.not. present(section)) then
      to(:n)%upper = array%shape - 1
      return
    end if
    if (.not. allocated(section%lower) .or. .not. allocated(section%upper)) then
      why = 'the section has no bounds'
      return
    end if
    if (allocated(section%stride)) then
      if (size(section%stride) /= size(section%lower)) why = 'the section has other strides than bounds'
    end if
    if (size(section%lower) /= n .or. size(section%upper) /= n) &
      why = 'the section has other dimensions than the array, which has ' // decimal(int(n, int64))
    if (allocated(why)) return
    if (allocated(section%stride)) then
      if (any(section%stride < 1)) why = 'strides are at least 1'
      to(:n)%stride = section%stride
    end if
    if (any(section%lower > section%upper)) then
      to(1)%lower = 1
      return
    end if
    if (any(section%lower < 1) .or. any(section%upper > array%shape)) &
      why = 'the section reaches out of the array: bounds count from 1 up to the size'
    to(:n)%lower = section%lower - 1
    to(:n)%upper = section%upper - 1
  end subroutine

  ! Says both, and whether so many bytes of memory are right for them; tells the caller what is not.
  function says(array, section, memory, to_array, to_section, ierr, errmsg) result(right)
    type(fallsfs_array), intent(in) :: array
    type(fallsfs_section), intent(in), optional :: section
    integer(int64), intent(in) :: memory
    type(c_array), intent(out) :: to_array
    type(c_range), intent(out) :: to_section(MAX_DIMS)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    character(len=:), allocatable :: why
    integer(int64) :: bytes
    logical :: right

    call say_array(array, to_array, why)
    if (.not. allocated(why)) call say_section(array, section, to_section, why)
    if (.not. allocated(why)) then
      bytes = c_section_bytes(to_array, to_section)
      if (bytes /= memory .and. bytes > 0) &
        why = 'the section has ' // decimal(bytes) // ' bytes, the memory for it ' // decimal(memory)
    end if
    right = .not. allocated(why)
    if (.not. right) call tell(EINVAL, why, ierr, errmsg)
  end function
end module

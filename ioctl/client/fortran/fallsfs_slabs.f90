! SPDX-License-Identifier: MIT
! Arrays that are larger than memory, slab by slab: the next ones are read while one is computed on.
!
!     type(fallsfs_walker) :: walker
!     type(fallsfs_slab) :: slab(2)
!     real(real64), pointer, contiguous :: old(:, :) => null(), new(:, :) => null()
!
!     call fallsfs_slabs_open(walker, [fallsfs_slabs_array(before, below=[0, 1], above=[0, 1]), &
!                                      fallsfs_slabs_array(after, 'write')], fallsfs_slabs_walk(memory=2_int64**30))
!     do
!       call fallsfs_slabs_next(walker, slab, more)
!       if (.not. more) exit
!       call fallsfs_slab_memory(slab(1), old) ! has the columns slab(1)%first(2) to slab(1)%last(2)
!       call fallsfs_slab_memory(slab(2), new)
!       do j = slab(2)%lower(2), slab(2)%upper(2)
!         ...
!     end do
!     call fallsfs_slabs_close(walker)
!
! A halo is what a slab shows of its neighbours, as the file had it before the walk; each byte is read once, whatever
! the halo. What is written back is the slab without it. Arrays are by columns, and walked along the last dimension
! unless something else is said.
module fallsfs_slabs
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use fallsfs_words
  use fallsfs_arrays, only: c_array, c_range, say_array, say_section, MAX_DIMS
  use fallsfs
  implicit none
  private

  integer(c_int32_t), parameter :: NO_PREFETCH = -1

  ! How a walk goes. All ranks of a group say the same, but for part.
  type, public :: fallsfs_slabs_walk
    integer :: axis = 0                             ! the dimension that is cut into slabs; 0: the last one
    integer :: prefetch = 1                         ! slabs that are read ahead
    integer(int64) :: memory = 0                    ! bytes for all of the walk; 0: 64 MiB, or what tile asks for
    integer(int64), allocatable :: tile(:)          ! elements of a slab; 0: along the axis as many as fit, else all
    integer(int64), allocatable :: grid(:)          ! of a group's ranks, each of which walks a block
    type(fallsfs_section), allocatable :: part      ! of the array, without strides, that this process walks
    integer(int64) :: rounds = 0                    ! with part, in a group: slabs of the rank with the most
  end type

  ! One of the arrays that are walked in step.
  type, public :: fallsfs_slabs_array
    private
    type(c_array) :: what
    integer(c_int) :: fd = -1
    integer(c_int32_t) :: access = 0
    type(c_ptr) :: group = c_null_ptr
    integer(c_int64_t) :: halo(2, MAX_DIMS) = 0
    character(len=200) :: why = '' ! it is none
  end type

  ! An array's slab, until the next call: indices lower to upper are its own, those from first to last lie in memory,
  ! densely. An empty one goes from 1 to 0.
  type, public :: fallsfs_slab
    type(c_ptr) :: bytes = c_null_ptr
    integer(int64), allocatable :: first(:), last(:), lower(:), upper(:)
    integer(int64), private :: elem = 0
  end type

  type, public :: fallsfs_walker
    private
    type(c_ptr) :: handle = c_null_ptr
    integer(int64), allocatable :: elem(:) ! of each array
    integer :: ndims = 0
  end type

  ! What a walk has done so far, as fallsfs_slabs_stats(3) has it.
  type, public, bind(c) :: fallsfs_slabs_stats
    integer(c_int64_t) :: rounds = 0, bytes_read = 0, bytes_kept = 0, bytes_written = 0, n_ready = 0
    integer(c_int64_t) :: waited_read_ns = 0, waited_written_ns = 0, memory = 0
    integer(c_int64_t), private :: reserved(4) = 0
  end type

  interface fallsfs_slabs_array
    procedure array_of_file, array_of_group
  end interface
  interface fallsfs_slabs_open
    procedure open_one, open_several
  end interface
  interface fallsfs_slabs_next
    procedure next_of_one, next_of_several
  end interface
  interface fallsfs_slabs_stats
    procedure stats_of
  end interface
  interface fallsfs_slab_memory
    procedure memory_of_int8, memory_of_int16, memory_of_int32, memory_of_int64, memory_of_real32, memory_of_real64, &
      memory_of_complex64, memory_of_complex128, memory_of_logical, memory_of_c_bool, memory_of_character
  end interface

  public :: fallsfs_slabs_open, fallsfs_slabs_next, fallsfs_slabs_close, fallsfs_slab_memory

  ! -- what libfallsfs takes --

  type, bind(c) :: c_slabs_array
    integer(c_int) :: fd
    integer(c_int32_t) :: access
    type(c_ptr) :: group, array
    integer(c_int64_t) :: halo(2, MAX_DIMS), reserved(4)
  end type

  type, bind(c) :: c_slabs_walk
    integer(c_int32_t) :: axis = 0, prefetch = 0
    integer(c_int64_t) :: memory = 0, tile(MAX_DIMS) = 0, grid(MAX_DIMS) = 0
    type(c_ptr) :: part = c_null_ptr
    integer(c_int64_t) :: rounds = 0, reserved(4) = 0
  end type

  type, bind(c) :: c_slab
    type(c_ptr) :: bytes
    integer(c_int64_t) :: first(MAX_DIMS), n(MAX_DIMS), lower(MAX_DIMS), size(MAX_DIMS)
  end type

  interface
    function c_open(walk, arrays, n_arrays, slabs) bind(c, name='fallsfs_slabs_open') result(r)
      import :: c_slabs_array, c_slabs_walk, c_int, c_int32_t, c_ptr
      type(c_slabs_walk), intent(in) :: walk
      type(c_slabs_array), intent(in) :: arrays(*)
      integer(c_int32_t), value :: n_arrays
      type(c_ptr), intent(inout) :: slabs
      integer(c_int) :: r
    end function

    function c_next(slabs, slab) bind(c, name='fallsfs_slabs_next') result(r)
      import :: c_slab, c_int, c_ptr
      type(c_ptr), value :: slabs
      type(c_slab), intent(inout) :: slab(*)
      integer(c_int) :: r
    end function

    function c_close(slabs) bind(c, name='fallsfs_slabs_close') result(r)
      import :: c_int, c_ptr
      type(c_ptr), value :: slabs
      integer(c_int) :: r
    end function

    subroutine c_stats(slabs, stats) bind(c, name='fallsfs_slabs_stats')
      import :: fallsfs_slabs_stats, c_ptr
      type(c_ptr), value :: slabs
      type(fallsfs_slabs_stats), intent(inout) :: stats
    end subroutine
  end interface

contains

  ! -- what is walked --

  ! action is 'read', 'write' or 'readwrite'; below and above are elements of the halo in each dimension.
  function array_of_file(file, action, below, above) result(array)
    type(fallsfs_file), intent(in) :: file
    character(len=*), intent(in), optional :: action
    integer, intent(in), optional :: below(:), above(:)
    type(fallsfs_slabs_array) :: array

    array = array_of(file%array, action, below, above)
    array%fd = fallsfs_fd(file)
  end function

  function array_of_group(group, action, below, above) result(array)
    type(fallsfs_group), intent(in) :: group
    character(len=*), intent(in), optional :: action
    integer, intent(in), optional :: below(:), above(:)
    type(fallsfs_slabs_array) :: array

    array = array_of(fallsfs_group_array(group), action, below, above)
    array%group = fallsfs_handle(group)
    if (.not. c_associated(array%group)) array%why = 'the group was not joined, or has been left'
  end function

  function array_of(what, action, below, above) result(array)
    type(fallsfs_array), intent(in) :: what
    character(len=*), intent(in), optional :: action
    integer, intent(in), optional :: below(:), above(:)
    type(fallsfs_slabs_array) :: array
    character(len=:), allocatable :: why

    call say_array(what, array%what, why)
    if (allocated(why)) then
      array%why = why
      return
    end if
    array%access = access_of(action)
    if (array%access == 0) array%why = 'an array''s action is ''read'', ''write'' or ''readwrite'''
    call set_halo(array, 1, below)
    call set_halo(array, 2, above)
  end function

  pure function access_of(action) result(access)
    character(len=*), intent(in), optional :: action
    integer(c_int32_t) :: access

    access = 1
    if (.not. present(action)) return
    select case (action)
    case ('read', 'READ')
      access = 1
    case ('write', 'WRITE')
      access = 2
    case ('readwrite', 'READWRITE')
      access = 3
    case default
      access = 0
    end select
  end function

  pure subroutine set_halo(array, side, halo)
    type(fallsfs_slabs_array), intent(inout) :: array
    integer, intent(in) :: side
    integer, intent(in), optional :: halo(:)

    if (.not. present(halo)) return
    if (size(halo) /= array%what%ndims) then
      array%why = 'a halo has a number of elements for each dimension of the array'
    else if (any(halo < 0)) then
      array%why = 'a halo has no less than 0 elements'
    else
      array%halo(side, :size(halo)) = halo
    end if
  end subroutine

  ! -- beginning --

  subroutine open_one(walker, array, walk, ierr, errmsg)
    type(fallsfs_walker), intent(out) :: walker
    type(fallsfs_slabs_array), intent(in) :: array
    type(fallsfs_slabs_walk), intent(in), optional :: walk
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call open_several(walker, [array], walk, ierr, errmsg)
  end subroutine

  subroutine open_several(walker, arrays, walk, ierr, errmsg)
    type(fallsfs_walker), intent(out) :: walker
    type(fallsfs_slabs_array), intent(in) :: arrays(:)
    type(fallsfs_slabs_walk), intent(in), optional :: walk
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    type(c_array), target :: what(size(arrays))
    type(c_slabs_array) :: said(size(arrays))
    type(c_range), target :: part(MAX_DIMS)
    type(c_slabs_walk) :: said_walk
    character(len=:), allocatable :: why
    integer(c_int) :: r
    integer :: i

    if (size(arrays) < 1) why = 'there is no array to walk'
    allocate (walker%elem(size(arrays)))
    do i = 1, size(arrays)
      if (arrays(i)%why /= '') why = trim(arrays(i)%why)
      what(i) = arrays(i)%what
      walker%elem(i) = what(i)%elem
      said(i) = c_slabs_array(arrays(i)%fd, arrays(i)%access, arrays(i)%group, c_loc(what(i)), arrays(i)%halo, 0)
    end do
    if (.not. allocated(why)) call say_walk(what(1), walk, said_walk, part, why)
    if (allocated(why)) then
      call tell(EINVAL, why, ierr, errmsg)
      return
    end if
    r = c_open(said_walk, said, size(arrays, kind=c_int32_t), walker%handle)
    walker%ndims = what(1)%ndims
    call finish(r, ierr, errmsg)
  end subroutine

  ! Says a walk as libfallsfs takes it; why is what is wrong with it.
  subroutine say_walk(array, walk, to, part, why)
    type(c_array), intent(in) :: array
    type(fallsfs_slabs_walk), intent(in), optional :: walk
    type(c_slabs_walk), intent(out) :: to
    type(c_range), intent(out), target :: part(MAX_DIMS)
    character(len=:), allocatable, intent(out) :: why

    to%axis = array%ndims - 1
    if (.not. present(walk)) return
    if (walk%axis < 0 .or. walk%axis > array%ndims) then
      why = 'there is no dimension ' // decimal(int(walk%axis, int64)) // ' to walk along: they count from 1'
    else if (walk%prefetch < 0 .or. walk%memory < 0 .or. walk%rounds < 0) then
      why = 'the memory of a walk, its rounds and the slabs that are read ahead are no less than 0'
    end if
    if (walk%axis > 0) to%axis = walk%axis - 1
    to%prefetch = merge(walk%prefetch, int(NO_PREFETCH), walk%prefetch > 0)
    to%memory = walk%memory
    to%rounds = walk%rounds
    call say_sizes(array, walk%tile, 'a tile', to%tile, why)
    call say_sizes(array, walk%grid, 'a grid of ranks', to%grid, why)
    if (allocated(walk%part) .and. .not. allocated(why)) then
      call say_section(fallsfs_array(array%size(:array%ndims), array%elem), walk%part, part, why)
      to%part = c_loc(part)
    end if
  end subroutine

  subroutine say_sizes(array, sizes, name, to, why)
    type(c_array), intent(in) :: array
    integer(int64), allocatable, intent(in) :: sizes(:)
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(inout) :: to(MAX_DIMS)
    character(len=:), allocatable, intent(inout) :: why

    if (.not. allocated(sizes)) return
    if (size(sizes) /= array%ndims) then
      why = name // ' has a size for each dimension of the array'
    else if (any(sizes < 0)) then
      why = name // ' has no less than 0 of a dimension'
    else
      to(:size(sizes)) = sizes
    end if
  end subroutine

  ! -- slab by slab --

  function is_open(walker, ierr, errmsg) result(is)
    type(fallsfs_walker), intent(in) :: walker
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    logical :: is

    is = c_associated(walker%handle)
    if (.not. is) call tell(EBADF, 'the walk was not opened, or has been closed', ierr, errmsg)
  end function

  subroutine next_of_one(walker, slab, more, ierr, errmsg)
    type(fallsfs_walker), intent(inout) :: walker
    type(fallsfs_slab), intent(inout) :: slab
    logical, intent(out) :: more
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    type(fallsfs_slab) :: slabs(1)

    call next_of_several(walker, slabs, more, ierr, errmsg)
    if (more) slab = slabs(1)
  end subroutine

  ! Takes the slabs in hand back, to be written where they shall be, and hands out the next ones, if there are more.
  ! Without more, all is written. An error is the walk's end.
  subroutine next_of_several(walker, slab, more, ierr, errmsg)
    type(fallsfs_walker), intent(inout) :: walker
    type(fallsfs_slab), intent(inout) :: slab(:)
    logical, intent(out) :: more
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    type(c_slab) :: taken(size(slab))
    integer(c_int) :: r
    integer :: i

    more = .false.
    if (.not. is_open(walker, ierr, errmsg)) return
    if (size(slab) /= size(walker%elem)) then
      call tell(EINVAL, 'a walk hands out a slab of each array, which are ' // &
                decimal(size(walker%elem, kind=int64)), ierr, errmsg)
      return
    end if
    r = c_next(walker%handle, taken)
    more = r > 0
    if (more) then
      do i = 1, size(slab)
        call take(taken(i), walker%ndims, walker%elem(i), slab(i))
      end do
    end if
    call finish(r, ierr, errmsg)
  end subroutine

  subroutine take(taken, n, elem, slab)
    type(c_slab), intent(in) :: taken
    integer, intent(in) :: n
    integer(int64), intent(in) :: elem
    type(fallsfs_slab), intent(inout) :: slab
    character(kind=c_char), target, save :: nothing

    slab = fallsfs_slab(taken%bytes, taken%first(:n) + 1, taken%first(:n) + taken%n(:n), &
                        taken%lower(:n) + 1, taken%lower(:n) + taken%size(:n), elem)
    if (all(taken%n(:n) > 0)) return
    slab%bytes = c_loc(nothing)
    slab%first = 1
    slab%last = 0
    slab%lower = 1
    slab%upper = 0
  end subroutine

  ! Ends the walk, whatever ierr is: the first error of what was to be written. Slabs that next has not taken back are
  ! not written.
  subroutine fallsfs_slabs_close(walker, ierr, errmsg)
    type(fallsfs_walker), intent(inout) :: walker
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(c_int) :: r

    if (.not. is_open(walker, ierr, errmsg)) return
    r = c_close(walker%handle)
    walker%handle = c_null_ptr
    call finish(r, ierr, errmsg)
  end subroutine

  ! Nothing, of a walk that is not open.
  function stats_of(walker) result(stats)
    type(fallsfs_walker), intent(in) :: walker
    type(fallsfs_slabs_stats) :: stats

    if (c_associated(walker%handle)) call c_stats(walker%handle, stats)
  end function

  ! -- a slab's memory, as a pointer of any intrinsic type and rank: for others, there is c_f_pointer --

  function is_like(slab, rank, bits, ierr, errmsg) result(is)
    type(fallsfs_slab), intent(in) :: slab
    integer, intent(in) :: rank, bits
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    logical :: is

    is = allocated(slab%first)
    if (.not. is) then
      call tell(EINVAL, 'the slab was not handed out yet', ierr, errmsg)
      return
    end if
    is = rank == size(slab%first) .and. bits == 8 * slab%elem
    if (is) then
      call tell(0, '', ierr, errmsg)
    else
      call tell(EINVAL, 'the slab has ' // decimal(size(slab%first, kind=int64)) // ' dimensions and elements of ' // &
                decimal(slab%elem) // ' bytes, the pointer ' // decimal(int(rank, int64)) // ' and ' // &
                decimal(int(bits / 8, int64)), ierr, errmsg)
    end if
  end function

  subroutine memory_of_int8(slab, at, ierr, errmsg)
    type(fallsfs_slab), intent(in) :: slab
    integer(int8), pointer, intent(inout) :: at(..)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    include 'slab_ranks.inc'
  end subroutine

  subroutine memory_of_int16(slab, at, ierr, errmsg)
    type(fallsfs_slab), intent(in) :: slab
    integer(int16), pointer, intent(inout) :: at(..)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    include 'slab_ranks.inc'
  end subroutine

  subroutine memory_of_int32(slab, at, ierr, errmsg)
    type(fallsfs_slab), intent(in) :: slab
    integer(int32), pointer, intent(inout) :: at(..)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    include 'slab_ranks.inc'
  end subroutine

  subroutine memory_of_int64(slab, at, ierr, errmsg)
    type(fallsfs_slab), intent(in) :: slab
    integer(int64), pointer, intent(inout) :: at(..)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    include 'slab_ranks.inc'
  end subroutine

  subroutine memory_of_real32(slab, at, ierr, errmsg)
    type(fallsfs_slab), intent(in) :: slab
    real(real32), pointer, intent(inout) :: at(..)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    include 'slab_ranks.inc'
  end subroutine

  subroutine memory_of_real64(slab, at, ierr, errmsg)
    type(fallsfs_slab), intent(in) :: slab
    real(real64), pointer, intent(inout) :: at(..)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    include 'slab_ranks.inc'
  end subroutine

  subroutine memory_of_complex64(slab, at, ierr, errmsg)
    type(fallsfs_slab), intent(in) :: slab
    complex(real32), pointer, intent(inout) :: at(..)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    include 'slab_ranks.inc'
  end subroutine

  subroutine memory_of_complex128(slab, at, ierr, errmsg)
    type(fallsfs_slab), intent(in) :: slab
    complex(real64), pointer, intent(inout) :: at(..)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    include 'slab_ranks.inc'
  end subroutine

  subroutine memory_of_logical(slab, at, ierr, errmsg)
    type(fallsfs_slab), intent(in) :: slab
    logical, pointer, intent(inout) :: at(..)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    include 'slab_ranks.inc'
  end subroutine

  subroutine memory_of_c_bool(slab, at, ierr, errmsg)
    type(fallsfs_slab), intent(in) :: slab
    logical(c_bool), pointer, intent(inout) :: at(..)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    include 'slab_ranks.inc'
  end subroutine

  subroutine memory_of_character(slab, at, ierr, errmsg)
    type(fallsfs_slab), intent(in) :: slab
    character(len=*), pointer, intent(inout) :: at(..)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    include 'slab_ranks.inc'
  end subroutine
end module

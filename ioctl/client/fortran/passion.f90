! SPDX-License-Identifier: MIT
! PASSION's calls: arrays that do not fit into memory, by sections, from one file or from a file for each process.
!
!     type(OCAD) :: matrix
!     type(PFILE) :: mine
!     type(REUSE) :: walk
!
!     call PASSION_malloc_OCAD(matrix, 2)
!     call PASSION_fill_OCAD(matrix, [8192, 8192], reshape([PASSION_NONE, 0, PASSION_BLOCK, 0], [2, 2]), [1, 4], &
!                            icla_size=reshape([0, 0, 128, 0], [2, 2]), overlap=reshape([0, 0, 1, 1], [2, 2]), &
!                            elemsize=8)
!     call PASSION_open(mine, '/fast/matrix:3')
!     call PASSION_reuse_init(walk, mine, matrix, 1)
!     do
!       call PASSION_read_reuse(walk, memory, n)
!       if (n < 0) exit
!       ...
!
! Names and arguments are as passion(3) has them; what a function gives in C comes first, and int a[n][2] is a(2, n).
! Indices count from 1 here, those of the memory, too, and upper bounds are included; processes, and parts in the names
! of files, count from 0. Arrays are in column order unless storage is ROW_MAJOR. Numbers are of the default kind of
! integers, or of int64.
!
! ierr and errmsg are as those of the module fallsfs.
module passion
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use fallsfs_words
  use fallsfs, only: fallsfs_token
  implicit none
  private

  integer, parameter, public :: ROW_MAJOR = 0, COLUMN_MAJOR = 1
  integer, parameter, public :: PASSION_NONE = 0, PASSION_BLOCK = 1, PASSION_CYCLIC = 2
  integer, parameter :: LAYOUT_SIZE = 4096

  type, public :: OCAD ! what an out-of-core array is
    private
    type(c_ptr) :: handle = c_null_ptr
    integer :: dimensions = 0
    integer(int64) :: elem = 1
  end type

  type, public :: PFILE ! an open file of one
    private
    type(c_ptr) :: handle = c_null_ptr
    integer(int64) :: header = 0
  end type

  type, public :: PREFETCH ! a section that is being read
    private
    type(c_ptr) :: handle = c_null_ptr
  end type

  type, public :: REUSE ! a walk through a local array
    private
    type(c_ptr) :: handle = c_null_ptr
    integer(int64) :: memory = 0 ! bytes that it wants
  end type

  interface PASSION_fill_OCAD
    procedure fill_default, fill_int64
  end interface
  interface PASSION_open
    procedure open_default, open_int64
  end interface
  interface PASSION_read_section
    procedure read_default, read_int64
  end interface
  interface PASSION_write_section
    procedure write_default, write_int64
  end interface
  interface PASSION_read_prefetch
    procedure prefetch_default, prefetch_int64
  end interface
  interface PASSION_prefetch_read
    procedure prefetch_default, prefetch_int64
  end interface
  interface PASSION_reuse_init
    procedure reuse_default, reuse_int64
  end interface
  interface PASSION_global_read
    procedure global_read_default, global_read_int64
  end interface
  interface PASSION_global_write
    procedure global_write_default, global_write_int64
  end interface

  public :: fallsfs_passion_init, PASSION_malloc_OCAD, PASSION_fill_OCAD, PASSION_free_OCAD, fallsfs_passion_layout
  public :: PASSION_open, PASSION_close, PASSION_read_header, PASSION_write_header
  public :: PASSION_read, PASSION_write, fallsfs_passion_sizes, PASSION_read_section, PASSION_write_section
  public :: PASSION_read_prefetch, PASSION_prefetch_read, PASSION_prefetch_wait, PASSION_reuse_init, PASSION_read_reuse
  public :: PASSION_global_read, PASSION_global_write, fallsfs_passion_to_global, fallsfs_passion_to_local

  ! -- what libfallsfs has --

  abstract interface
    function c_all(file, array_of, memory) bind(c) result(r)
      import :: c_int, c_ptr
      type(c_ptr), value :: file, array_of, memory
      integer(c_int) :: r
    end function

    function c_section(file, array_of, memory, at, access) bind(c) result(r)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: file, array_of, memory
      integer(c_int64_t), intent(in), optional :: at(*)
      integer(c_int64_t), intent(in) :: access(3, *)
      integer(c_int) :: r
    end function

    function c_global(file, array_of, memory, at, access, nprocs) bind(c) result(r)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: file, array_of, memory
      integer(c_int64_t), intent(in), optional :: at(*)
      integer(c_int64_t), intent(in) :: access(3, *)
      integer(c_int), value :: nprocs
      integer(c_int) :: r
    end function

    function c_header(file, memory) bind(c) result(r)
      import :: c_int, c_ptr
      type(c_ptr), value :: file, memory
      integer(c_int) :: r
    end function

    function c_placement(local, global, array_of) bind(c) result(r)
      import :: c_int, c_ptr
      type(c_ptr), value :: local, global, array_of
      integer(c_int) :: r
    end function
  end interface

  procedure(c_all), bind(c, name='PASSION_read') :: c_read
  procedure(c_all), bind(c, name='PASSION_write') :: c_write
  procedure(c_section), bind(c, name='PASSION_read_section_64') :: c_read_section
  procedure(c_section), bind(c, name='PASSION_write_section_64') :: c_write_section
  procedure(c_global), bind(c, name='PASSION_global_read_64') :: c_global_read
  procedure(c_global), bind(c, name='PASSION_global_write_64') :: c_global_write
  procedure(c_header), bind(c, name='PASSION_read_header') :: c_read_header
  procedure(c_header), bind(c, name='PASSION_write_header') :: c_write_header
  procedure(c_placement), bind(c, name='fallsfs_passion_to_global') :: c_to_global
  procedure(c_placement), bind(c, name='fallsfs_passion_to_local') :: c_to_local

  interface
    function c_init(rank, nprocs, token) bind(c, name='fallsfs_passion_init') result(r)
      import :: fallsfs_token, c_int
      integer(c_int), value :: rank, nprocs
      type(fallsfs_token), intent(in), optional :: token
      integer(c_int) :: r
    end function

    function c_malloc(dimensions) bind(c, name='PASSION_malloc_OCAD') result(array_of)
      import :: c_int, c_ptr
      integer(c_int), value :: dimensions
      type(c_ptr) :: array_of
    end function

    function c_fill(array_of, size, distribution, nprocs, ocla_size, icla_size, overlap, elemsize, storage) &
      bind(c, name='PASSION_fill_OCAD_64') result(r)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: array_of
      integer(c_int64_t), intent(in) :: size(*)
      integer(c_int), intent(in), optional :: distribution(2, *), nprocs(*)
      integer(c_int64_t), intent(in), optional :: ocla_size(*), icla_size(2, *), overlap(2, *)
      integer(c_int64_t), value :: elemsize
      integer(c_int), value :: storage
      integer(c_int) :: r
    end function

    subroutine c_free(array_of) bind(c, name='PASSION_free_OCAD')
      import :: c_ptr
      type(c_ptr), value :: array_of
    end subroutine

    function c_layout(array_of, header, text, len) bind(c, name='fallsfs_passion_layout') result(r)
      import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: array_of
      integer(c_int64_t), value :: header
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: len
      integer(c_int) :: r
    end function

    function c_open(name, header) bind(c, name='PASSION_open_64') result(file)
      import :: c_char, c_int64_t, c_ptr
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: header
      type(c_ptr) :: file
    end function

    function c_close(file) bind(c, name='PASSION_close') result(r)
      import :: c_int, c_ptr
      type(c_ptr), value :: file
      integer(c_int) :: r
    end function

    function c_sizes(file, array_of, part, memory) bind(c, name='fallsfs_passion_sizes') result(r)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: file, array_of
      integer(c_int64_t), intent(inout) :: part(*), memory(*)
      integer(c_int) :: r
    end function

    function c_prefetch(file, array_of, memory, at, access) bind(c, name='PASSION_read_prefetch_64') result(ahead)
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: file, array_of, memory
      integer(c_int64_t), intent(in), optional :: at(*)
      integer(c_int64_t), intent(in) :: access(3, *)
      type(c_ptr) :: ahead
    end function

    function c_prefetch_wait(ahead) bind(c, name='PASSION_prefetch_wait') result(r)
      import :: c_int, c_ptr
      type(c_ptr), value :: ahead
      integer(c_int) :: r
    end function

    function c_reuse(file, array_of, start) bind(c, name='PASSION_reuse_init_64') result(walk)
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: file, array_of
      integer(c_int64_t), value :: start
      type(c_ptr) :: walk
    end function

    function c_read_reuse(walk, memory) bind(c, name='PASSION_read_reuse') result(n)
      import :: c_int, c_ptr
      type(c_ptr), value :: walk, memory
      integer(c_int) :: n
    end function
  end interface

contains

  ! What a call of PASSION's has returned, which leaves its error in errno.
  subroutine finish_call(failed, ierr, errmsg)
    logical, intent(in) :: failed
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(c_int) :: r

    r = 0
    if (failed) r = -errno()
    call finish(r, ierr, errmsg)
  end subroutine

  ! Who this process is among those that open files together: without this, what the environment says.
  subroutine fallsfs_passion_init(rank, nprocs, token, ierr, errmsg)
    integer, intent(in) :: rank, nprocs
    type(fallsfs_token), intent(in), optional :: token
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call finish(c_init(int(rank, c_int), int(nprocs, c_int), token), ierr, errmsg)
  end subroutine

  ! -- the array --

  subroutine PASSION_malloc_OCAD(OCADptr, dimensions, ierr, errmsg)
    type(OCAD), intent(out) :: OCADptr
    integer, intent(in) :: dimensions
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    OCADptr%handle = c_malloc(int(dimensions, c_int))
    OCADptr%dimensions = dimensions
    call finish_call(.not. c_associated(OCADptr%handle), ierr, errmsg)
  end subroutine

  subroutine fill_default(OCADptr, size, distribution, nprocs, ocla_size, icla_size, overlap, elemsize, storage, ierr, &
                          errmsg)
    type(OCAD), intent(inout) :: OCADptr
    integer, intent(in) :: size(:)
    integer, intent(in), optional, contiguous :: distribution(:, :), nprocs(:)
    integer, intent(in), optional :: ocla_size(:), icla_size(:, :), overlap(:, :)
    integer, intent(in) :: elemsize
    integer, intent(in), optional :: storage
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: ocla(:), icla(:, :), over(:, :) ! those that are absent stay so

    if (present(ocla_size)) allocate (ocla, source=int(ocla_size, int64))
    if (present(icla_size)) allocate (icla, source=int(icla_size, int64))
    if (present(overlap)) allocate (over, source=int(overlap, int64))
    call fill_int64(OCADptr, int(size, int64), distribution, nprocs, ocla, icla, over, int(elemsize, int64), storage, &
                    ierr, errmsg)
  end subroutine

  subroutine fill_int64(OCADptr, size, distribution, nprocs, ocla_size, icla_size, overlap, elemsize, storage, ierr, &
                        errmsg)
    type(OCAD), intent(inout) :: OCADptr
    integer(int64), intent(in), contiguous :: size(:)
    ! gfortran 12 would look at what is absent, to see whether it has gaps.
    integer, intent(in), optional, contiguous :: distribution(:, :), nprocs(:)
    integer(int64), intent(in), optional, contiguous :: ocla_size(:), icla_size(:, :), overlap(:, :)
    integer(int64), intent(in) :: elemsize
    integer, intent(in), optional :: storage
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(c_int) :: order
    integer :: n
    logical :: fits

    if (.not. is_there(OCADptr, ierr, errmsg)) return
    n = OCADptr%dimensions
    fits = all(shape(size) == n)
    if (present(distribution)) fits = fits .and. all(shape(distribution) == [2, n])
    if (present(nprocs)) fits = fits .and. all(shape(nprocs) == n)
    if (present(ocla_size)) fits = fits .and. all(shape(ocla_size) == n)
    if (present(icla_size)) fits = fits .and. all(shape(icla_size) == [2, n])
    if (present(overlap)) fits = fits .and. all(shape(overlap) == [2, n])
    if (.not. fits) then
      call tell(EINVAL, 'sizes and processes are one for each of the ' // decimal(int(n, int64)) // ' dimensions, &
                &distributions, ICLA sizes and overlaps two: (2, dimensions)', ierr, errmsg)
      return
    end if
    order = COLUMN_MAJOR
    if (present(storage)) order = storage
    OCADptr%elem = elemsize
    call finish_call(c_fill(OCADptr%handle, size, distribution, nprocs, ocla_size, icla_size, overlap, elemsize, &
                            order) < 0, ierr, errmsg)
  end subroutine

  function is_there(OCADptr, ierr, errmsg) result(is)
    type(OCAD), intent(in) :: OCADptr
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    logical :: is

    is = c_associated(OCADptr%handle)
    if (.not. is) call tell(EINVAL, 'there is no OCAD: PASSION_malloc_OCAD makes one', ierr, errmsg)
  end function

  subroutine PASSION_free_OCAD(OCADptr)
    type(OCAD), intent(inout) :: OCADptr

    call c_free(OCADptr%handle)
    OCADptr%handle = c_null_ptr
  end subroutine

  ! The distribution as a layout, whose element i is the part of process i.
  subroutine fallsfs_passion_layout(OCADptr, HeaderSize, text, ierr, errmsg)
    type(OCAD), intent(in) :: OCADptr
    integer(int64), intent(in) :: HeaderSize
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    character(kind=c_char), target :: chars(LAYOUT_SIZE)
    integer(c_int) :: r

    if (.not. is_there(OCADptr, ierr, errmsg)) return
    r = c_layout(OCADptr%handle, HeaderSize, chars, size(chars, kind=c_size_t))
    if (r >= 0) text = text_at(c_loc(chars))
    call finish(r, ierr, errmsg)
  end subroutine

  ! -- files --

  subroutine open_default(PFilePtr, FileName, HeaderSize, ierr, errmsg)
    type(PFILE), intent(out) :: PFilePtr
    character(len=*), intent(in) :: FileName
    integer, intent(in), optional :: HeaderSize
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(int64) :: header

    header = 0
    if (present(HeaderSize)) header = HeaderSize
    call open_int64(PFilePtr, FileName, header, ierr, errmsg)
  end subroutine

  subroutine open_int64(PFilePtr, FileName, HeaderSize, ierr, errmsg)
    type(PFILE), intent(out) :: PFilePtr
    character(len=*), intent(in) :: FileName
    integer(int64), intent(in) :: HeaderSize
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    PFilePtr%handle = c_open(c_text(trim(FileName)), HeaderSize)
    PFilePtr%header = HeaderSize
    call finish_call(.not. c_associated(PFilePtr%handle), ierr, errmsg)
  end subroutine

  function is_open(PFilePtr, ierr, errmsg) result(is)
    type(PFILE), intent(in) :: PFilePtr
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    logical :: is

    is = c_associated(PFilePtr%handle)
    if (.not. is) call tell(EBADF, 'the file is not open', ierr, errmsg)
  end function

  ! Both are there, as most calls want them.
  function are_there(PFilePtr, OCADptr, ierr, errmsg) result(are)
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    logical :: are

    are = is_open(PFilePtr, ierr, errmsg)
    if (are) are = is_there(OCADptr, ierr, errmsg)
  end function

  ! What belongs to the file, prefetches and reuses, goes with it.
  subroutine PASSION_close(PFilePtr, ierr, errmsg)
    type(PFILE), intent(inout) :: PFilePtr
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(c_int) :: r

    if (.not. is_open(PFilePtr, ierr, errmsg)) return
    r = c_close(PFilePtr%handle)
    PFilePtr%handle = c_null_ptr
    call finish_call(r < 0, ierr, errmsg)
  end subroutine

  subroutine PASSION_read_header(PFilePtr, HBuf, ierr, errmsg)
    type(PFILE), intent(in) :: PFilePtr
    type(*), dimension(..), intent(inout), contiguous, target :: HBuf
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call move_header(c_read_header, PFilePtr, sizeof(HBuf), c_loc(HBuf), ierr, errmsg)
  end subroutine

  subroutine PASSION_write_header(PFilePtr, HBuf, ierr, errmsg)
    type(PFILE), intent(in) :: PFilePtr
    type(*), dimension(..), intent(in), contiguous, target :: HBuf
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call move_header(c_write_header, PFilePtr, sizeof(HBuf), c_loc(HBuf), ierr, errmsg)
  end subroutine

  subroutine move_header(call_of, PFilePtr, bytes, memory, ierr, errmsg)
    procedure(c_header) :: call_of
    type(PFILE), intent(in) :: PFilePtr
    integer(int64), intent(in) :: bytes
    type(c_ptr), intent(in) :: memory
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    if (.not. is_open(PFilePtr, ierr, errmsg)) return
    if (fits(PFilePtr%header, bytes, 'the header', ierr, errmsg)) &
      call finish_call(call_of(PFilePtr%handle, memory) < 0, ierr, errmsg)
  end subroutine

  ! Whether there is as much memory as a call moves.
  function fits(needed, memory, what, ierr, errmsg) result(does)
    integer(int64), intent(in) :: needed, memory
    character(len=*), intent(in) :: what
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    logical :: does

    does = needed <= memory
    if (.not. does) call tell(EINVAL, what // ' has ' // decimal(needed) // ' bytes, the memory for it ' // &
                              decimal(memory), ierr, errmsg)
  end function

  ! -- local placement --

  ! How many indices the local array has in each dimension, and the memory of calls that have an Index.
  subroutine fallsfs_passion_sizes(PFilePtr, OCADptr, part, memory, ierr, errmsg)
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    integer(int64), allocatable, intent(out) :: part(:), memory(:)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    if (.not. are_there(PFilePtr, OCADptr, ierr, errmsg)) return
    allocate (part(OCADptr%dimensions), memory(OCADptr%dimensions))
    call finish(c_sizes(PFilePtr%handle, OCADptr%handle, part, memory), ierr, errmsg)
  end subroutine

  ! Whether the memory is as large as all of the part is, or as the OCAD says that it is for sections.
  function holds(PFilePtr, OCADptr, bytes, whole, ierr, errmsg) result(does)
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    integer(int64), intent(in) :: bytes
    logical, intent(in) :: whole
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(int64) :: part(max(OCADptr%dimensions, 1)), memory(max(OCADptr%dimensions, 1))
    integer(c_int) :: r
    logical :: does

    does = are_there(PFilePtr, OCADptr, ierr, errmsg)
    if (.not. does) return
    r = c_sizes(PFilePtr%handle, OCADptr%handle, part, memory)
    does = r == 0
    if (.not. does) then
      call finish(r, ierr, errmsg)
    else if (whole) then
      does = fits(product(part) * OCADptr%elem, bytes, 'the local array', ierr, errmsg)
    else
      does = fits(product(memory) * OCADptr%elem, bytes, 'the OCAD''s part in memory', ierr, errmsg)
    end if
  end function

  ! All of the local array, densely.
  subroutine PASSION_read(PFilePtr, OCADptr, Array, ierr, errmsg)
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    type(*), dimension(..), intent(inout), contiguous, target :: Array
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call move_all(c_read, PFilePtr, OCADptr, sizeof(Array), c_loc(Array), ierr, errmsg)
  end subroutine

  subroutine PASSION_write(PFilePtr, OCADptr, Array, ierr, errmsg)
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    type(*), dimension(..), intent(in), contiguous, target :: Array
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call move_all(c_write, PFilePtr, OCADptr, sizeof(Array), c_loc(Array), ierr, errmsg)
  end subroutine

  subroutine move_all(call_of, PFilePtr, OCADptr, bytes, memory, ierr, errmsg)
    procedure(c_all) :: call_of
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    integer(int64), intent(in) :: bytes
    type(c_ptr), intent(in) :: memory
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    if (holds(PFilePtr, OCADptr, bytes, .true., ierr, errmsg)) &
      call finish_call(call_of(PFilePtr%handle, OCADptr%handle, memory) < 0, ierr, errmsg)
  end subroutine

  ! -- sections: AccessArray has lower, upper and stride of each dimension; Index is where in Array it begins --

  ! Says both as libfallsfs takes them, which counts from 0; why is what is wrong with them.
  subroutine say_access(OCADptr, Index, AccessArray, at, access, why)
    type(OCAD), intent(in) :: OCADptr
    integer(int64), intent(in), optional :: Index(:)
    integer(int64), intent(in) :: AccessArray(:, :)
    integer(int64), allocatable, intent(out) :: at(:), access(:, :)
    character(len=:), allocatable, intent(out) :: why

    if (any(shape(AccessArray) /= [3, OCADptr%dimensions])) then
      why = 'AccessArray has lower and upper bound and stride for each dimension of the OCAD: (3, dimensions)'
      return
    end if
    allocate (access, source=AccessArray)
    access(:2, :) = access(:2, :) - 1
    if (.not. present(Index)) return
    if (size(Index) /= OCADptr%dimensions) why = 'Index has a number for each dimension of the OCAD'
    allocate (at, source=Index - 1)
  end subroutine

  ! An Index that is not there stays so.
  subroutine widen(Index, at)
    integer, intent(in), optional :: Index(:)
    integer(int64), allocatable, intent(out) :: at(:)

    if (present(Index)) allocate (at, source=int(Index, int64))
  end subroutine

  subroutine move_section(call_of, PFilePtr, OCADptr, bytes, memory, Index, AccessArray, ierr, errmsg)
    procedure(c_section) :: call_of
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    integer(int64), intent(in) :: bytes, AccessArray(:, :)
    type(c_ptr), intent(in) :: memory
    integer(int64), intent(in), optional :: Index(:)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: at(:), access(:, :)
    character(len=:), allocatable :: why

    if (.not. holds(PFilePtr, OCADptr, bytes, .false., ierr, errmsg)) return
    call say_access(OCADptr, Index, AccessArray, at, access, why)
    if (allocated(why)) then
      call tell(EINVAL, why, ierr, errmsg)
      return
    end if
    call finish_call(call_of(PFilePtr%handle, OCADptr%handle, memory, at, access) < 0, ierr, errmsg)
  end subroutine

  subroutine read_default(PFilePtr, OCADptr, Array, Index, AccessArray, ierr, errmsg)
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    type(*), dimension(..), intent(inout), contiguous, target :: Array
    integer, intent(in), optional :: Index(:)
    integer, intent(in) :: AccessArray(:, :)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: at(:)

    call widen(Index, at)
    call move_section(c_read_section, PFilePtr, OCADptr, sizeof(Array), c_loc(Array), at, int(AccessArray, int64), &
                      ierr, errmsg)
  end subroutine

  subroutine read_int64(PFilePtr, OCADptr, Array, Index, AccessArray, ierr, errmsg)
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    type(*), dimension(..), intent(inout), contiguous, target :: Array
    integer(int64), intent(in), optional :: Index(:)
    integer(int64), intent(in) :: AccessArray(:, :)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call move_section(c_read_section, PFilePtr, OCADptr, sizeof(Array), c_loc(Array), Index, AccessArray, ierr, &
                      errmsg)
  end subroutine

  subroutine write_default(PFilePtr, OCADptr, Array, Index, AccessArray, ierr, errmsg)
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    type(*), dimension(..), intent(in), contiguous, target :: Array
    integer, intent(in), optional :: Index(:)
    integer, intent(in) :: AccessArray(:, :)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: at(:)

    call widen(Index, at)
    call move_section(c_write_section, PFilePtr, OCADptr, sizeof(Array), c_loc(Array), at, int(AccessArray, int64), &
                      ierr, errmsg)
  end subroutine

  subroutine write_int64(PFilePtr, OCADptr, Array, Index, AccessArray, ierr, errmsg)
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    type(*), dimension(..), intent(in), contiguous, target :: Array
    integer(int64), intent(in), optional :: Index(:)
    integer(int64), intent(in) :: AccessArray(:, :)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call move_section(c_write_section, PFilePtr, OCADptr, sizeof(Array), c_loc(Array), Index, AccessArray, ierr, &
                      errmsg)
  end subroutine

  ! -- without waiting: Array is contiguous, declared asynchronous and target, and the call's until wait --

  subroutine prefetch_default(PREFETCHptr, PFilePtr, OCADptr, Array, Index, AccessArray, ierr, errmsg)
    type(PREFETCH), intent(out) :: PREFETCHptr
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    type(*), dimension(..), intent(inout), asynchronous, target :: Array
    integer, intent(in), optional :: Index(:)
    integer, intent(in) :: AccessArray(:, :)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: at(:)

    call widen(Index, at)
    call prefetch_int64(PREFETCHptr, PFilePtr, OCADptr, Array, at, int(AccessArray, int64), ierr, errmsg)
  end subroutine

  subroutine prefetch_int64(PREFETCHptr, PFilePtr, OCADptr, Array, Index, AccessArray, ierr, errmsg)
    type(PREFETCH), intent(out) :: PREFETCHptr
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    type(*), dimension(..), intent(inout), asynchronous, target :: Array
    integer(int64), intent(in), optional :: Index(:)
    integer(int64), intent(in) :: AccessArray(:, :)
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: at(:), access(:, :)
    character(len=:), allocatable :: why

    if (.not. holds(PFilePtr, OCADptr, sizeof(Array), .false., ierr, errmsg)) return
    call say_access(OCADptr, Index, AccessArray, at, access, why)
    if (.not. is_contiguous(Array)) why = 'memory of a request that goes on has to be contiguous: it cannot be copied'
    if (allocated(why)) then
      call tell(EINVAL, why, ierr, errmsg)
      return
    end if
    PREFETCHptr%handle = c_prefetch(PFilePtr%handle, OCADptr%handle, c_loc(Array), at, access)
    call finish_call(.not. c_associated(PREFETCHptr%handle), ierr, errmsg)
  end subroutine

  subroutine PASSION_prefetch_wait(PREFETCHptr, ierr, errmsg)
    type(PREFETCH), intent(inout) :: PREFETCHptr
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(c_int) :: r

    if (.not. c_associated(PREFETCHptr%handle)) then
      call tell(EBADF, 'nothing is being read, or it has been waited for', ierr, errmsg)
      return
    end if
    r = c_prefetch_wait(PREFETCHptr%handle)
    PREFETCHptr%handle = c_null_ptr
    call finish_call(r < 0, ierr, errmsg)
  end subroutine

  ! -- what is walked, with what overlaps read once --

  subroutine reuse_default(REUSEptr, PFilePtr, OCADptr, start, ierr, errmsg)
    type(REUSE), intent(out) :: REUSEptr
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    integer, intent(in) :: start
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call reuse_int64(REUSEptr, PFilePtr, OCADptr, int(start, int64), ierr, errmsg)
  end subroutine

  subroutine reuse_int64(REUSEptr, PFilePtr, OCADptr, start, ierr, errmsg)
    type(REUSE), intent(out) :: REUSEptr
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    integer(int64), intent(in) :: start
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(int64) :: part(max(OCADptr%dimensions, 1)), memory(max(OCADptr%dimensions, 1))
    integer(c_int) :: r

    if (.not. are_there(PFilePtr, OCADptr, ierr, errmsg)) return
    r = c_sizes(PFilePtr%handle, OCADptr%handle, part, memory)
    if (r < 0) then
      call finish(r, ierr, errmsg)
      return
    end if
    REUSEptr%handle = c_reuse(PFilePtr%handle, OCADptr%handle, start - 1)
    REUSEptr%memory = product(memory) * OCADptr%elem
    call finish_call(.not. c_associated(REUSEptr%handle), ierr, errmsg)
  end subroutine

  ! n is how many indices of the dimension that is cut there are in Array, without overlaps; -1 behind the last ones.
  subroutine PASSION_read_reuse(REUSEptr, Array, n, ierr, errmsg)
    type(REUSE), intent(in) :: REUSEptr
    type(*), dimension(..), intent(inout), contiguous, target :: Array
    integer, intent(out) :: n
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(c_int) :: got, number

    n = -1
    if (.not. c_associated(REUSEptr%handle)) then
      call tell(EBADF, 'there is no walk: PASSION_reuse_init begins one', ierr, errmsg)
      return
    end if
    if (.not. fits(REUSEptr%memory, sizeof(Array), 'the OCAD''s part in memory', ierr, errmsg)) return
    got = c_read_reuse(REUSEptr%handle, c_loc(Array))
    n = got
    number = errno()
    call finish_call(got < 0 .and. number /= 0, ierr, errmsg)
  end subroutine

  ! -- global placement: the first nprocs processes ask together --

  ! Who asks for what cannot be said asks in vain with the others, who would wait for it.
  subroutine move_global(call_of, PFilePtr, OCADptr, bytes, memory, Index, AccessArray, nprocs, ierr, errmsg)
    procedure(c_global) :: call_of
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    integer(int64), intent(in) :: bytes, AccessArray(:, :)
    type(c_ptr), intent(in) :: memory
    integer(int64), intent(in), optional :: Index(:)
    integer, intent(in) :: nprocs
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: at(:), access(:, :)
    character(len=:), allocatable :: why
    integer(int64) :: needed, nothing(3, max(OCADptr%dimensions, 1))
    integer(c_int) :: r

    if (.not. are_there(PFilePtr, OCADptr, ierr, errmsg)) return
    call say_access(OCADptr, Index, AccessArray, at, access, why)
    if (.not. allocated(why)) then
      needed = OCADptr%elem * n_elements(access)
      if (needed > bytes) why = 'the section has ' // decimal(needed) // ' bytes, the memory for it ' // decimal(bytes)
    end if
    if (allocated(why)) then
      nothing = 0
      r = call_of(PFilePtr%handle, OCADptr%handle, memory, access=nothing, nprocs=int(nprocs, c_int))
      call tell(EINVAL, why, ierr, errmsg)
      return
    end if
    call finish_call(call_of(PFilePtr%handle, OCADptr%handle, memory, at, access, int(nprocs, c_int)) < 0, ierr, errmsg)
  end subroutine

  ! 0 also of what is no section, for which there is an error later.
  pure function n_elements(access) result(n)
    integer(int64), intent(in) :: access(:, :)
    integer(int64) :: n

    n = 0
    if (all(access(3, :) > 0)) n = product(max(access(2, :) - access(1, :) + access(3, :), 0_int64) / access(3, :))
  end function

  subroutine global_read_default(PFilePtr, OCADptr, Array, Index, AccessArray, nprocs, ierr, errmsg)
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    type(*), dimension(..), intent(inout), contiguous, target :: Array
    integer, intent(in), optional :: Index(:)
    integer, intent(in) :: AccessArray(:, :)
    integer, intent(in) :: nprocs
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: at(:)

    call widen(Index, at)
    call move_global(c_global_read, PFilePtr, OCADptr, sizeof(Array), c_loc(Array), at, int(AccessArray, int64), &
                     nprocs, ierr, errmsg)
  end subroutine

  subroutine global_read_int64(PFilePtr, OCADptr, Array, Index, AccessArray, nprocs, ierr, errmsg)
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    type(*), dimension(..), intent(inout), contiguous, target :: Array
    integer(int64), intent(in), optional :: Index(:)
    integer(int64), intent(in) :: AccessArray(:, :)
    integer, intent(in) :: nprocs
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call move_global(c_global_read, PFilePtr, OCADptr, sizeof(Array), c_loc(Array), Index, AccessArray, nprocs, ierr, &
                     errmsg)
  end subroutine

  subroutine global_write_default(PFilePtr, OCADptr, Array, Index, AccessArray, nprocs, ierr, errmsg)
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    type(*), dimension(..), intent(in), contiguous, target :: Array
    integer, intent(in), optional :: Index(:)
    integer, intent(in) :: AccessArray(:, :)
    integer, intent(in) :: nprocs
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(int64), allocatable :: at(:)

    call widen(Index, at)
    call move_global(c_global_write, PFilePtr, OCADptr, sizeof(Array), c_loc(Array), at, int(AccessArray, int64), &
                     nprocs, ierr, errmsg)
  end subroutine

  subroutine global_write_int64(PFilePtr, OCADptr, Array, Index, AccessArray, nprocs, ierr, errmsg)
    type(PFILE), intent(in) :: PFilePtr
    type(OCAD), intent(in) :: OCADptr
    type(*), dimension(..), intent(in), contiguous, target :: Array
    integer(int64), intent(in), optional :: Index(:)
    integer(int64), intent(in) :: AccessArray(:, :)
    integer, intent(in) :: nprocs
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call move_global(c_global_write, PFilePtr, OCADptr, sizeof(Array), c_loc(Array), Index, AccessArray, nprocs, ierr, &
                     errmsg)
  end subroutine

  ! -- from one placement to the other, all processes of the OCAD together --

  ! The parts of all processes make the whole array.
  subroutine fallsfs_passion_to_global(local, global, OCADptr, ierr, errmsg)
    type(PFILE), intent(in) :: local, global
    type(OCAD), intent(in) :: OCADptr
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call place(c_to_global, local, global, OCADptr, ierr, errmsg)
  end subroutine

  ! The other way round.
  subroutine fallsfs_passion_to_local(local, global, OCADptr, ierr, errmsg)
    type(PFILE), intent(in) :: local, global
    type(OCAD), intent(in) :: OCADptr
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call place(c_to_local, local, global, OCADptr, ierr, errmsg)
  end subroutine

  subroutine place(call_of, local, global, OCADptr, ierr, errmsg)
    procedure(c_placement) :: call_of
    type(PFILE), intent(in) :: local, global
    type(OCAD), intent(in) :: OCADptr
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    if (.not. are_there(local, OCADptr, ierr, errmsg)) return
    if (is_open(global, ierr, errmsg)) &
      call finish(call_of(local%handle, global%handle, OCADptr%handle), ierr, errmsg)
  end subroutine
end module

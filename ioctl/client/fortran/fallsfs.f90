! SPDX-License-Identifier: MIT
! Fortran's way to libfallsfs: sections of arrays in files on a fallsfs mount, alone or as a group of processes.
!
!     type(fallsfs_file) :: matrix
!     real(real64), allocatable :: block(:, :)
!
!     call fallsfs_open(matrix, '/fast/matrix', fallsfs_array([8192, 8192], 8))
!     allocate (block(1024, 8192))
!     call fallsfs_read_section(matrix, block, fallsfs_section([1025, 1], [2048, 8192]))
!     call fallsfs_close(matrix)
!
! Indices count from 1 and both bounds are included. Arrays are in column order, as Fortran's are: what lies in a file
! row by row is seen with its dimensions the other way round, and is the same array. Bytes, as those of FALLS, lists and
! headers, count from 0. Memory is of any type and rank, and as large as what is asked for. Ranks of processes count
! from 0, as MPI's.
!
! Procedures end the program with a message when something goes wrong, unless they are given ierr, which is 0 then or an
! error number of the system's; errmsg says in words why.
module fallsfs
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use fallsfs_words
  use fallsfs_arrays
  implicit none
  private

  integer, parameter :: TOKEN_SIZE = 16, MAX_CULPRITS = 15

  ! As fallsfs_join(3) has them; 0 everywhere are the defaults.
  type, public, bind(c) :: fallsfs_hints
    integer(c_int32_t) :: domains = 0, sieve = 0
    integer(c_int64_t) :: window = 0
    integer(c_int32_t) :: workers = 0, timeout_ms = 0
  end type

  integer(c_int32_t), parameter, public :: FALLSFS_DOMAINS_DEFAULT = 0, FALLSFS_DOMAINS_STATIC = 1, &
    FALLSFS_DOMAINS_DYNAMIC = 2, FALLSFS_DOMAINS_CYCLIC = 3, FALLSFS_DOMAINS_DISK = 4
  integer(c_int32_t), parameter, public :: FALLSFS_SIEVE_AUTO = 0, FALLSFS_SIEVE_ON = 1, FALLSFS_SIEVE_OFF = 2
  integer(c_int32_t), parameter, public :: FALLSFS_TIMEOUT_NONE = -1

  ! len bytes from the byte off of a list on.
  type, bind(c) :: piece
    integer(c_int64_t) :: off, len
  end type

  ! A set of pieces, or of FALLS, repeated as struct fallsfs_list has it. As many of its bytes are asked for as there is
  ! memory.
  type, public :: fallsfs_list
    private
    integer(int64) :: disp = 0, extent = 0, skip = 0, id = 0
    type(piece), allocatable :: pieces(:)
    character(kind=c_char), allocatable :: falls(:)
  end type

  ! What ranks of a group find each other by.
  type, public, bind(c) :: fallsfs_token
    private
    integer(c_int8_t) :: bytes(TOKEN_SIZE) = 0
  end type

  ! An open file and what it holds; where nobody has said that, array%shape is not allocated.
  type, public :: fallsfs_file
    type(fallsfs_array) :: array
    integer(c_int), private :: fd = -1
    type(c_ptr), private :: stream = c_null_ptr
  end type

  type, public :: fallsfs_group
    private
    type(fallsfs_array) :: array
    type(c_ptr) :: handle = c_null_ptr
  end type

  ! What the last request of a group did, as struct fallsfs_ioc_stats has it: bytes and times, in nanoseconds, of all
  ! ranks together.
  type, public, bind(c) :: fallsfs_group_stats
    integer(c_int32_t), private :: version = 0, reserved32 = 0
    integer(c_int64_t) :: group = 0, calls = 0, asked = 0, disk_read = 0, disk_written = 0, mapped = 0, reread = 0
    integer(c_int64_t) :: windows = 0, windows_mapped = 0, windows_list = 0, requests = 0
    integer(c_int32_t) :: domains = 0, plan_reused = 0
    integer(c_int64_t) :: ns_wait = 0, ns_plan = 0, ns_io = 0, ns_exchange = 0, ns_total = 0
    integer(c_int32_t) :: error = 0, n_culprits = 0, culprit(MAX_CULPRITS) = 0
    integer(c_int32_t), private :: more_reserved32(2) = 0
    integer(c_int32_t) :: by_itself = 0
    integer(c_int64_t), private :: reserved(7) = 0
  end type

  type, public :: fallsfs_ticket
    private
    type(c_ptr) :: handle = c_null_ptr
  end type

  interface fallsfs_list
    procedure list_of_default, list_of_int64, list_of_falls
  end interface

  public :: fallsfs_open, fallsfs_close, fallsfs_fd, fallsfs_array_of, fallsfs_set_array, fallsfs_file_size, &
    fallsfs_sync
  public :: fallsfs_array, fallsfs_section, fallsfs_section_count
  public :: fallsfs_read_section, fallsfs_write_section, fallsfs_read_list, fallsfs_write_list, fallsfs_hint, &
    fallsfs_size_last, fallsfs_iread_section, fallsfs_iwrite_section, fallsfs_iread_list, fallsfs_iwrite_list
  public :: fallsfs_new_token, fallsfs_token_text, fallsfs_token_from, fallsfs_join, fallsfs_leave, &
    fallsfs_stats, fallsfs_handle, fallsfs_group_array
  public :: fallsfs_read_all, fallsfs_write_all, fallsfs_read_list_all, fallsfs_write_list_all, &
    fallsfs_read_element_all, fallsfs_write_element_all, fallsfs_element_bytes
  public :: fallsfs_iread_all, fallsfs_iwrite_all, fallsfs_iread_list_all, fallsfs_iwrite_list_all, fallsfs_wait, &
    fallsfs_test
  public :: fallsfs_view, fallsfs_read_at, fallsfs_write_at
  public :: fallsfs_alloc, fallsfs_free

  ! -- what libfallsfs takes --

  type, bind(c) :: c_list
    integer(c_int64_t) :: disp
    type(c_ptr) :: falls, pieces
    integer(c_int64_t) :: n, id, extent, skip, bytes
  end type

  interface
    ! Memory that the daemon can reach without a copy, for c_f_pointer; NULL without memory.
    function fallsfs_alloc(len) bind(c) result(mem)
      import :: c_ptr, c_size_t
      integer(c_size_t), value :: len
      type(c_ptr) :: mem
    end function

    subroutine fallsfs_free(mem) bind(c)
      import :: c_ptr
      type(c_ptr), value :: mem
    end subroutine

    ! How long the file was for this thread's last request; -1: nobody knows.
    function fallsfs_size_last() bind(c) result(size)
      import :: c_int64_t
      integer(c_int64_t) :: size
    end function

    function c_token(token) bind(c, name='fallsfs_token') result(r)
      import :: fallsfs_token, c_int
      type(fallsfs_token), intent(out) :: token
      integer(c_int) :: r
    end function

    function c_join(fd, token, rank, nranks, hints, group) bind(c, name='fallsfs_join') result(r)
      import :: fallsfs_token, fallsfs_hints, c_int, c_int32_t, c_ptr
      integer(c_int), value :: fd
      type(fallsfs_token), intent(in) :: token
      integer(c_int32_t), value :: rank, nranks
      type(fallsfs_hints), intent(in), optional :: hints
      type(c_ptr), intent(inout) :: group
      integer(c_int) :: r
    end function

    function c_leave(group) bind(c, name='fallsfs_leave') result(r)
      import :: c_int, c_ptr
      type(c_ptr), value :: group
      integer(c_int) :: r
    end function

    function c_stats(group, stats, staged) bind(c, name='fallsfs_stats') result(r)
      import :: fallsfs_group_stats, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(fallsfs_group_stats), intent(inout) :: stats
      integer(c_int64_t), intent(inout), optional :: staged
      integer(c_int) :: r
    end function

    function c_read_section(fd, array, section, buf) bind(c, name='fallsfs_read_section') result(r)
      import :: c_array, c_range, c_int, c_ptr
      integer(c_int), value :: fd
      type(c_array), intent(in) :: array
      type(c_range), intent(in) :: section(*)
      type(c_ptr), value :: buf
      integer(c_int) :: r
    end function

    function c_write_section(fd, array, section, buf) bind(c, name='fallsfs_write_section') result(r)
      import :: c_array, c_range, c_int, c_ptr
      integer(c_int), value :: fd
      type(c_array), intent(in) :: array
      type(c_range), intent(in) :: section(*)
      type(c_ptr), value :: buf
      integer(c_int) :: r
    end function

    function c_read_all(group, array, section, buf) bind(c, name='fallsfs_read_all') result(r)
      import :: c_array, c_range, c_int, c_ptr
      type(c_ptr), value :: group
      type(c_array), intent(in) :: array
      type(c_range), intent(in) :: section(*)
      type(c_ptr), value :: buf
      integer(c_int) :: r
    end function

    function c_write_all(group, array, section, buf) bind(c, name='fallsfs_write_all') result(r)
      import :: c_array, c_range, c_int, c_ptr
      type(c_ptr), value :: group
      type(c_array), intent(in) :: array
      type(c_range), intent(in) :: section(*)
      type(c_ptr), value :: buf
      integer(c_int) :: r
    end function

    function c_iread_section(fd, array, section, buf, ticket) bind(c, name='fallsfs_iread_section') result(r)
      import :: c_array, c_range, c_int, c_ptr
      integer(c_int), value :: fd
      type(c_array), intent(in) :: array
      type(c_range), intent(in) :: section(*)
      type(c_ptr), value :: buf
      type(c_ptr), intent(inout) :: ticket
      integer(c_int) :: r
    end function

    function c_iwrite_section(fd, array, section, buf, ticket) bind(c, name='fallsfs_iwrite_section') result(r)
      import :: c_array, c_range, c_int, c_ptr
      integer(c_int), value :: fd
      type(c_array), intent(in) :: array
      type(c_range), intent(in) :: section(*)
      type(c_ptr), value :: buf
      type(c_ptr), intent(inout) :: ticket
      integer(c_int) :: r
    end function

    function c_iread_all(group, array, section, buf, ticket) bind(c, name='fallsfs_iread_all') result(r)
      import :: c_array, c_range, c_int, c_ptr
      type(c_ptr), value :: group
      type(c_array), intent(in) :: array
      type(c_range), intent(in) :: section(*)
      type(c_ptr), value :: buf
      type(c_ptr), intent(inout) :: ticket
      integer(c_int) :: r
    end function

    function c_iwrite_all(group, array, section, buf, ticket) bind(c, name='fallsfs_iwrite_all') result(r)
      import :: c_array, c_range, c_int, c_ptr
      type(c_ptr), value :: group
      type(c_array), intent(in) :: array
      type(c_range), intent(in) :: section(*)
      type(c_ptr), value :: buf
      type(c_ptr), intent(inout) :: ticket
      integer(c_int) :: r
    end function

    function c_read_list(fd, list, buf) bind(c, name='fallsfs_read_list') result(r)
      import :: c_list, c_int, c_ptr
      integer(c_int), value :: fd
      type(c_list), intent(in) :: list
      type(c_ptr), value :: buf
      integer(c_int) :: r
    end function

    function c_write_list(fd, list, buf) bind(c, name='fallsfs_write_list') result(r)
      import :: c_list, c_int, c_ptr
      integer(c_int), value :: fd
      type(c_list), intent(in) :: list
      type(c_ptr), value :: buf
      integer(c_int) :: r
    end function

    function c_read_list_all(group, list, buf) bind(c, name='fallsfs_read_list_all') result(r)
      import :: c_list, c_int, c_ptr
      type(c_ptr), value :: group
      type(c_list), intent(in) :: list
      type(c_ptr), value :: buf
      integer(c_int) :: r
    end function

    function c_write_list_all(group, list, buf) bind(c, name='fallsfs_write_list_all') result(r)
      import :: c_list, c_int, c_ptr
      type(c_ptr), value :: group
      type(c_list), intent(in) :: list
      type(c_ptr), value :: buf
      integer(c_int) :: r
    end function

    function c_iread_list(fd, list, buf, ticket) bind(c, name='fallsfs_iread_list') result(r)
      import :: c_list, c_int, c_ptr
      integer(c_int), value :: fd
      type(c_list), intent(in) :: list
      type(c_ptr), value :: buf
      type(c_ptr), intent(inout) :: ticket
      integer(c_int) :: r
    end function

    function c_iwrite_list(fd, list, buf, ticket) bind(c, name='fallsfs_iwrite_list') result(r)
      import :: c_list, c_int, c_ptr
      integer(c_int), value :: fd
      type(c_list), intent(in) :: list
      type(c_ptr), value :: buf
      type(c_ptr), intent(inout) :: ticket
      integer(c_int) :: r
    end function

    function c_iread_list_all(group, list, buf, ticket) bind(c, name='fallsfs_iread_list_all') result(r)
      import :: c_list, c_int, c_ptr
      type(c_ptr), value :: group
      type(c_list), intent(in) :: list
      type(c_ptr), value :: buf
      type(c_ptr), intent(inout) :: ticket
      integer(c_int) :: r
    end function

    function c_iwrite_list_all(group, list, buf, ticket) bind(c, name='fallsfs_iwrite_list_all') result(r)
      import :: c_list, c_int, c_ptr
      type(c_ptr), value :: group
      type(c_list), intent(in) :: list
      type(c_ptr), value :: buf
      type(c_ptr), intent(inout) :: ticket
      integer(c_int) :: r
    end function

    function c_read_element_all(group, layout, element, buf) bind(c, name='fallsfs_read_element_all') result(r)
      import :: c_char, c_int, c_int32_t, c_ptr
      type(c_ptr), value :: group
      character(kind=c_char), intent(in) :: layout(*)
      integer(c_int32_t), value :: element
      type(c_ptr), value :: buf
      integer(c_int) :: r
    end function

    function c_write_element_all(group, layout, element, buf) bind(c, name='fallsfs_write_element_all') result(r)
      import :: c_char, c_int, c_int32_t, c_ptr
      type(c_ptr), value :: group
      character(kind=c_char), intent(in) :: layout(*)
      integer(c_int32_t), value :: element
      type(c_ptr), value :: buf
      integer(c_int) :: r
    end function

    function c_element_bytes(layout, element) bind(c, name='fallsfs_element_bytes') result(bytes)
      import :: c_char, c_int32_t, c_int64_t
      character(kind=c_char), intent(in) :: layout(*)
      integer(c_int32_t), value :: element
      integer(c_int64_t) :: bytes
    end function

    function c_hint(fd, hints) bind(c, name='fallsfs_hint') result(r)
      import :: fallsfs_hints, c_int
      integer(c_int), value :: fd
      type(fallsfs_hints), intent(in), optional :: hints
      integer(c_int) :: r
    end function

    function c_wait(ticket) bind(c, name='fallsfs_wait') result(r)
      import :: c_int, c_ptr
      type(c_ptr), value :: ticket
      integer(c_int) :: r
    end function

    function c_test(ticket, done) bind(c, name='fallsfs_test') result(r)
      import :: c_bool, c_int, c_ptr
      type(c_ptr), value :: ticket
      logical(c_bool), intent(inout) :: done
      integer(c_int) :: r
    end function

    function c_view(fd, text) bind(c, name='fallsfs_view') result(r)
      import :: c_char, c_int
      integer(c_int), value :: fd
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int) :: r
    end function

    function c_array_of(fd, array, type) bind(c, name='fallsfs_array_of') result(r)
      import :: c_array, c_char, c_int
      integer(c_int), value :: fd
      type(c_array), intent(inout) :: array
      character(kind=c_char), intent(inout) :: type(*)
      integer(c_int) :: r
    end function

  end interface

  ! -- what libc has of files; open(2) itself takes any number of arguments, which Fortran cannot call --

  interface
    function c_fopen(path, mode) bind(c, name='fopen') result(stream)
      import :: c_char, c_ptr
      character(kind=c_char), intent(in) :: path(*), mode(*)
      type(c_ptr) :: stream
    end function

    function c_fclose(stream) bind(c, name='fclose') result(r)
      import :: c_int, c_ptr
      type(c_ptr), value :: stream
      integer(c_int) :: r
    end function

    function c_fileno(stream) bind(c, name='fileno') result(fd)
      import :: c_int, c_ptr
      type(c_ptr), value :: stream
      integer(c_int) :: fd
    end function

    function c_mknod(path, mode, dev) bind(c, name='mknod') result(r)
      import :: c_char, c_int, c_int64_t
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: mode
      integer(c_int64_t), value :: dev
      integer(c_int) :: r
    end function

    function c_pread(fd, buf, len, off) bind(c, name='pread') result(n)
      import :: c_int, c_int64_t, c_ptr, c_size_t
      integer(c_int), value :: fd
      type(c_ptr), value :: buf
      integer(c_size_t), value :: len
      integer(c_int64_t), value :: off
      integer(c_size_t) :: n
    end function

    function c_pwrite(fd, buf, len, off) bind(c, name='pwrite') result(n)
      import :: c_int, c_int64_t, c_ptr, c_size_t
      integer(c_int), value :: fd
      type(c_ptr), value :: buf
      integer(c_size_t), value :: len
      integer(c_int64_t), value :: off
      integer(c_size_t) :: n
    end function

    function c_lseek(fd, off, whence) bind(c, name='lseek') result(at)
      import :: c_int, c_int64_t
      integer(c_int), value :: fd, whence
      integer(c_int64_t), value :: off
      integer(c_int64_t) :: at
    end function

    function c_fsync(fd) bind(c, name='fsync') result(r)
      import :: c_int
      integer(c_int), value :: fd
      integer(c_int) :: r
    end function

    function c_fsetxattr(fd, name, value, len, flags) bind(c, name='fsetxattr') result(r)
      import :: c_char, c_int, c_size_t
      integer(c_int), value :: fd, flags
      character(kind=c_char), intent(in) :: name(*), value(*)
      integer(c_size_t), value :: len
      integer(c_int) :: r
    end function

  end interface

contains

  ! -- files --

  ! Opens a file to be read, or with write also to be written; with create it is made if it is not there. Without
  ! array, what the file says of itself.
  subroutine fallsfs_open(file, path, array, write, create, ierr, errmsg)
    type(fallsfs_file), intent(out) :: file
    character(len=*), intent(in) :: path
    type(fallsfs_array), intent(in), optional :: array
    logical, intent(in), optional :: write, create
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(c_int), parameter :: regular = int(o'100666')
    logical :: writes
    integer :: r

    if (present(array)) then
      if (allocated(array%shape)) then
        if (any(array%shape < 1)) then
          call tell(EINVAL, path // ': an array has at least one index in each dimension', ierr, errmsg)
          return
        end if
      end if
    end if
    writes = .false.
    if (present(write)) writes = write
    if (present(create)) then
      writes = writes .or. create
      if (create) then
        if (c_mknod(c_text(trim(path)), regular, 0_c_int64_t) < 0) then
          if (errno() /= EEXIST) then
            call finish_system(.true., path, ierr, errmsg)
            return
          end if
        end if
      end if
    end if
    file%stream = c_fopen(c_text(trim(path)), c_text(trim(merge('r+e', 're ', writes))))
    if (.not. c_associated(file%stream)) then
      call finish_system(.true., path, ierr, errmsg)
      return
    end if
    file%fd = c_fileno(file%stream)
    if (present(array)) then
      file%array = array
    else
      call fallsfs_array_of(file, file%array, r) ! nobody needs to have said it
    end if
    call tell(0, '', ierr, errmsg)
  end subroutine

  subroutine fallsfs_close(file, ierr, errmsg)
    type(fallsfs_file), intent(inout) :: file
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(c_int) :: r

    if (.not. c_associated(file%stream)) then
      call tell(EBADF, 'the file is not open', ierr, errmsg)
      return
    end if
    r = c_fclose(file%stream)
    file%stream = c_null_ptr
    file%fd = -1
    call finish_system(r /= 0, 'closing', ierr, errmsg)
  end subroutine

  ! The file's descriptor, for C.
  pure function fallsfs_fd(file) result(fd)
    type(fallsfs_file), intent(in) :: file
    integer(c_int) :: fd

    fd = file%fd
  end function

  ! What the file says of itself, in user.falls.array.
  subroutine fallsfs_array_of(file, array, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    type(fallsfs_array), intent(inout) :: array
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    type(c_array) :: found
    character(kind=c_char) :: type(TYPE_SIZE)
    integer(c_int) :: r
    integer :: i, n

    r = c_array_of(file%fd, found, type)
    if (r == 0) then
      n = found%ndims
      array%elem = found%elem
      array%header = found%header
      array%shape = found%size(:n)
      if (found%order == 0) array%shape = found%size(n:1:-1)
      array%type = ''
      do i = 1, TYPE_SIZE - 1
        if (type(i) == c_null_char) exit
        array%type(i:i) = type(i)
      end do
    end if
    call finish(r, ierr, errmsg)
  end subroutine

  ! Says for all who open the file later what it holds.
  subroutine fallsfs_set_array(file, array, ierr, errmsg)
    type(fallsfs_file), intent(inout) :: file
    type(fallsfs_array), intent(in) :: array
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    character(len=:), allocatable :: text, why
    type(c_array) :: checked
    integer(c_int) :: r
    integer :: i

    call say_array(array, checked, why)
    if (allocated(why)) then
      call tell(EINVAL, why, ierr, errmsg)
      return
    end if
    text = 'order=col shape=' // decimal(array%shape(1))
    do i = 2, size(array%shape)
      text = text // 'x' // decimal(array%shape(i))
    end do
    text = text // ' elem=' // decimal(array%elem) // ' header=' // decimal(array%header)
    if (array%type /= '') text = text // ' type=' // trim(array%type)
    r = c_fsetxattr(file%fd, c_text('user.falls.array'), c_text(text), len(text, c_size_t), 0)
    if (r == 0) file%array = array
    call finish_system(r < 0, 'user.falls.array ' // text, ierr, errmsg)
  end subroutine

  ! Bytes of the file, or of the view that it is.
  subroutine fallsfs_file_size(file, bytes, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    integer(int64), intent(out) :: bytes
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    bytes = c_lseek(file%fd, 0_c_int64_t, 2)
    call finish_system(bytes < 0, 'the size of a file', ierr, errmsg)
  end subroutine

  ! Returns when what was written is on the disks.
  subroutine fallsfs_sync(file, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call finish_system(c_fsync(file%fd) < 0, 'syncing', ierr, errmsg)
  end subroutine

  ! -- alone --

  subroutine fallsfs_read_section(file, buf, section, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    type(*), dimension(..), intent(inout), contiguous, target :: buf
    type(fallsfs_section), intent(in), optional :: section
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    type(c_array) :: array
    type(c_range) :: range(MAX_DIMS)

    if (says(file%array, section, sizeof(buf), array, range, ierr, errmsg)) &
      call finish(c_read_section(file%fd, array, range, c_loc(buf)), ierr, errmsg)
  end subroutine

  subroutine fallsfs_write_section(file, buf, section, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    type(*), dimension(..), intent(in), contiguous, target :: buf
    type(fallsfs_section), intent(in), optional :: section
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    type(c_array) :: array
    type(c_range) :: range(MAX_DIMS)

    if (says(file%array, section, sizeof(buf), array, range, ierr, errmsg)) &
      call finish(c_write_section(file%fd, array, range, c_loc(buf)), ierr, errmsg)
  end subroutine

  subroutine fallsfs_read_list(file, buf, list, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    type(*), dimension(..), intent(inout), contiguous, target :: buf
    type(fallsfs_list), intent(in), target :: list
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call finish(c_read_list(file%fd, said_list(list, sizeof(buf)), c_loc(buf)), ierr, errmsg)
  end subroutine

  subroutine fallsfs_write_list(file, buf, list, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    type(*), dimension(..), intent(in), contiguous, target :: buf
    type(fallsfs_list), intent(in), target :: list
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call finish(c_write_list(file%fd, said_list(list, sizeof(buf)), c_loc(buf)), ierr, errmsg)
  end subroutine

  ! How requests alone are served from here on; without hints, as usual.
  subroutine fallsfs_hint(file, hints, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    type(fallsfs_hints), intent(in), optional :: hints
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call finish(c_hint(file%fd, hints), ierr, errmsg)
  end subroutine

  ! -- lists --

  pure function list_of_default(off, len, disp, extent, skip, id) result(list)
    integer, intent(in) :: off(:), len(:)
    integer, intent(in), optional :: disp, extent, skip, id
    type(fallsfs_list) :: list

    call set_pieces(list, int(off, int64), int(len, int64))
    if (present(disp)) list%disp = int(disp, int64)
    if (present(extent)) list%extent = int(extent, int64)
    if (present(skip)) list%skip = int(skip, int64)
    if (present(id)) list%id = int(id, int64)
  end function

  pure function list_of_int64(off, len, disp, extent, skip, id) result(list)
    integer(int64), intent(in) :: off(:), len(:)
    integer(int64), intent(in), optional :: disp, extent, skip, id
    type(fallsfs_list) :: list

    call set_pieces(list, off, len)
    if (present(disp)) list%disp = disp
    if (present(extent)) list%extent = extent
    if (present(skip)) list%skip = skip
    if (present(id)) list%id = id
  end function

  ! Pieces that have an offset and no length, or the other way round, have none: the list is refused where it is used.
  pure subroutine set_pieces(list, off, len)
    type(fallsfs_list), intent(inout) :: list
    integer(int64), intent(in) :: off(:), len(:)
    integer :: i

    allocate (list%pieces(max(size(off), size(len))))
    do i = 1, size(list%pieces)
      list%pieces(i) = piece(0, 0)
      if (i <= min(size(off), size(len))) list%pieces(i) = piece(off(i), len(i))
    end do
  end subroutine

  pure function list_of_falls(falls, disp, extent, skip) result(list)
    character(len=*), intent(in) :: falls
    integer(int64), intent(in), optional :: disp, extent, skip
    type(fallsfs_list) :: list

    allocate (list%falls, source=c_text(falls))
    if (present(disp)) list%disp = disp
    if (present(extent)) list%extent = extent
    if (present(skip)) list%skip = skip
  end function

  function said_list(list, bytes) result(said)
    type(fallsfs_list), intent(in), target :: list
    integer(int64), intent(in) :: bytes
    type(c_list) :: said

    said = c_list(list%disp, c_null_ptr, c_null_ptr, 0, list%id, list%extent, list%skip, bytes)
    if (allocated(list%falls)) said%falls = c_loc(list%falls)
    if (.not. allocated(list%pieces)) return
    said%n = size(list%pieces, kind=int64)
    if (said%n > 0) said%pieces = c_loc(list%pieces)
  end function

  ! -- groups --

  ! Makes a token, in one process, which hands it to the others.
  subroutine fallsfs_new_token(token, ierr, errmsg)
    type(fallsfs_token), intent(out) :: token
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call finish(c_token(token), ierr, errmsg)
  end subroutine

  ! A token as 32 hexadecimal digits, for environments, command lines and messages.
  pure function fallsfs_token_text(token) result(text)
    type(fallsfs_token), intent(in) :: token
    character(len=2 * TOKEN_SIZE) :: text
    integer :: i

    do i = 1, TOKEN_SIZE
      write (text(2 * i - 1:2 * i), '(z2.2)') token%bytes(i)
    end do
  end function

  subroutine fallsfs_token_from(text, token, ierr, errmsg)
    character(len=*), intent(in) :: text
    type(fallsfs_token), intent(out) :: token
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer :: byte, i

    if (len_trim(text) /= 2 * TOKEN_SIZE .or. verify(trim(text), '0123456789abcdefABCDEF') /= 0) then
      call tell(EINVAL, 'a token has 32 hexadecimal digits', ierr, errmsg)
      return
    end if
    do i = 1, TOKEN_SIZE
      read (text(2 * i - 1:2 * i), '(z2)') byte
      token%bytes(i) = int(merge(byte, byte - 256, byte < 128), c_int8_t)
    end do
    call tell(0, '', ierr, errmsg)
  end subroutine

  ! Takes a rank, from 0. The others are not waited for. The file stays open for as long as the group is used.
  subroutine fallsfs_join(file, token, rank, nranks, group, hints, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    type(fallsfs_token), intent(in) :: token
    integer, intent(in) :: rank, nranks
    type(fallsfs_group), intent(out) :: group
    type(fallsfs_hints), intent(in), optional :: hints
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int) :: r

    handle = c_null_ptr
    r = c_join(file%fd, token, int(rank, c_int32_t), int(nranks, c_int32_t), hints, handle)
    if (r == 0) group = fallsfs_group(file%array, handle)
    call finish(r, ierr, errmsg)
  end subroutine

  ! Gives the rank back, whatever ierr is.
  subroutine fallsfs_leave(group, ierr, errmsg)
    type(fallsfs_group), intent(inout) :: group
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(c_int) :: r

    if (.not. is_joined(group, ierr, errmsg)) return
    r = c_leave(group%handle)
    group%handle = c_null_ptr
    call finish(r, ierr, errmsg)
  end subroutine

  ! What the last request did, and through how many bytes of copies in this process.
  subroutine fallsfs_stats(group, stats, staged, ierr, errmsg)
    type(fallsfs_group), intent(in) :: group
    type(fallsfs_group_stats), intent(out) :: stats
    integer(int64), intent(out), optional :: staged
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    if (is_joined(group, ierr, errmsg)) call finish(c_stats(group%handle, stats, staged), ierr, errmsg)
  end subroutine

  ! The group as libfallsfs has it, for C.
  pure function fallsfs_handle(group) result(handle)
    type(fallsfs_group), intent(in) :: group
    type(c_ptr) :: handle

    handle = group%handle
  end function

  ! What the file held when the rank joined.
  pure function fallsfs_group_array(group) result(array)
    type(fallsfs_group), intent(in) :: group
    type(fallsfs_array) :: array

    array = group%array
  end function

  function is_joined(group, ierr, errmsg) result(is)
    type(fallsfs_group), intent(in) :: group
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    logical :: is

    is = c_associated(group%handle)
    if (.not. is) call tell(EBADF, 'the group was not joined, or has been left', ierr, errmsg)
  end function

  subroutine fallsfs_read_all(group, buf, section, ierr, errmsg)
    type(fallsfs_group), intent(in) :: group
    type(*), dimension(..), intent(inout), contiguous, target :: buf
    type(fallsfs_section), intent(in), optional :: section
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    type(c_array) :: array
    type(c_range) :: range(MAX_DIMS)

    if (.not. is_joined(group, ierr, errmsg)) return
    if (says(group%array, section, sizeof(buf), array, range, ierr, errmsg)) &
      call finish(c_read_all(group%handle, array, range, c_loc(buf)), ierr, errmsg)
  end subroutine

  subroutine fallsfs_write_all(group, buf, section, ierr, errmsg)
    type(fallsfs_group), intent(in) :: group
    type(*), dimension(..), intent(in), contiguous, target :: buf
    type(fallsfs_section), intent(in), optional :: section
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    type(c_array) :: array
    type(c_range) :: range(MAX_DIMS)

    if (.not. is_joined(group, ierr, errmsg)) return
    if (says(group%array, section, sizeof(buf), array, range, ierr, errmsg)) &
      call finish(c_write_all(group%handle, array, range, c_loc(buf)), ierr, errmsg)
  end subroutine

  subroutine fallsfs_read_list_all(group, buf, list, ierr, errmsg)
    type(fallsfs_group), intent(in) :: group
    type(*), dimension(..), intent(inout), contiguous, target :: buf
    type(fallsfs_list), intent(in), target :: list
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    if (is_joined(group, ierr, errmsg)) &
      call finish(c_read_list_all(group%handle, said_list(list, sizeof(buf)), c_loc(buf)), ierr, errmsg)
  end subroutine

  subroutine fallsfs_write_list_all(group, buf, list, ierr, errmsg)
    type(fallsfs_group), intent(in) :: group
    type(*), dimension(..), intent(in), contiguous, target :: buf
    type(fallsfs_list), intent(in), target :: list
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    if (is_joined(group, ierr, errmsg)) &
      call finish(c_write_list_all(group%handle, said_list(list, sizeof(buf)), c_loc(buf)), ierr, errmsg)
  end subroutine

  subroutine fallsfs_read_element_all(group, buf, layout, element, ierr, errmsg)
    type(fallsfs_group), intent(in) :: group
    type(*), dimension(..), intent(inout), contiguous, target :: buf
    class(*), intent(in) :: layout
    integer, intent(in) :: element
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    if (.not. is_joined(group, ierr, errmsg)) return
    if (fits(sizeof(buf), text_of(layout), element, ierr, errmsg)) &
      call finish(c_read_element_all(group%handle, c_text(text_of(layout)), int(element, c_int32_t), c_loc(buf)), &
                  ierr, errmsg)
  end subroutine

  subroutine fallsfs_write_element_all(group, buf, layout, element, ierr, errmsg)
    type(fallsfs_group), intent(in) :: group
    type(*), dimension(..), intent(in), contiguous, target :: buf
    class(*), intent(in) :: layout
    integer, intent(in) :: element
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    if (.not. is_joined(group, ierr, errmsg)) return
    if (fits(sizeof(buf), text_of(layout), element, ierr, errmsg)) &
      call finish(c_write_element_all(group%handle, c_text(text_of(layout)), int(element, c_int32_t), c_loc(buf)), &
                  ierr, errmsg)
  end subroutine

  ! How many bytes an element of a layout has in one period, which is the whole array; 0: there is no such element.
  function fallsfs_element_bytes(layout, element) result(bytes)
    character(len=*), intent(in) :: layout
    integer, intent(in) :: element
    integer(int64) :: bytes

    bytes = c_element_bytes(c_text(layout), int(element, c_int32_t))
  end function

  ! Whether the memory is right for the element; of none that there is, libfallsfs says why.
  function fits(memory, layout, element, ierr, errmsg) result(does)
    integer(int64), intent(in) :: memory
    character(len=*), intent(in) :: layout
    integer, intent(in) :: element
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(int64) :: bytes
    logical :: does

    bytes = fallsfs_element_bytes(layout, element)
    does = bytes == memory .or. bytes == 0
    if (.not. does) call tell(EINVAL, 'the element has ' // decimal(bytes) // ' bytes, the memory for it ' // &
                              decimal(memory), ierr, errmsg)
  end function

  ! -- tickets: memory that is contiguous and belongs to the request until wait or test has said that it is over, which
  ! the caller declares asynchronous and target --

  function stays(contiguous, ierr, errmsg) result(does)
    logical, intent(in) :: contiguous
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    logical :: does

    does = contiguous
    if (.not. does) &
      call tell(EINVAL, 'memory of a request that goes on has to be contiguous: it cannot be copied', ierr, errmsg)
  end function

  subroutine fallsfs_iread_section(file, buf, ticket, section, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    type(*), dimension(..), intent(inout), asynchronous, target :: buf
    type(fallsfs_ticket), intent(out) :: ticket
    type(fallsfs_section), intent(in), optional :: section
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    type(c_array) :: array
    type(c_range) :: range(MAX_DIMS)

    if (.not. stays(is_contiguous(buf), ierr, errmsg)) return
    if (says(file%array, section, sizeof(buf), array, range, ierr, errmsg)) &
      call finish(c_iread_section(file%fd, array, range, c_loc(buf), ticket%handle), ierr, errmsg)
  end subroutine

  subroutine fallsfs_iwrite_section(file, buf, ticket, section, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    type(*), dimension(..), intent(in), asynchronous, target :: buf
    type(fallsfs_ticket), intent(out) :: ticket
    type(fallsfs_section), intent(in), optional :: section
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    type(c_array) :: array
    type(c_range) :: range(MAX_DIMS)

    if (.not. stays(is_contiguous(buf), ierr, errmsg)) return
    if (says(file%array, section, sizeof(buf), array, range, ierr, errmsg)) &
      call finish(c_iwrite_section(file%fd, array, range, c_loc(buf), ticket%handle), ierr, errmsg)
  end subroutine

  subroutine fallsfs_iread_list(file, buf, ticket, list, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    type(*), dimension(..), intent(inout), asynchronous, target :: buf
    type(fallsfs_ticket), intent(out) :: ticket
    type(fallsfs_list), intent(in), target :: list
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    if (.not. stays(is_contiguous(buf), ierr, errmsg)) return
    call finish(c_iread_list(file%fd, said_list(list, sizeof(buf)), c_loc(buf), ticket%handle), ierr, errmsg)
  end subroutine

  subroutine fallsfs_iwrite_list(file, buf, ticket, list, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    type(*), dimension(..), intent(in), asynchronous, target :: buf
    type(fallsfs_ticket), intent(out) :: ticket
    type(fallsfs_list), intent(in), target :: list
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    if (.not. stays(is_contiguous(buf), ierr, errmsg)) return
    call finish(c_iwrite_list(file%fd, said_list(list, sizeof(buf)), c_loc(buf), ticket%handle), ierr, &
                  errmsg)
  end subroutine

  subroutine fallsfs_iread_all(group, buf, ticket, section, ierr, errmsg)
    type(fallsfs_group), intent(in) :: group
    type(*), dimension(..), intent(inout), asynchronous, target :: buf
    type(fallsfs_ticket), intent(out) :: ticket
    type(fallsfs_section), intent(in), optional :: section
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    type(c_array) :: array
    type(c_range) :: range(MAX_DIMS)

    if (.not. stays(is_contiguous(buf), ierr, errmsg)) return
    if (.not. is_joined(group, ierr, errmsg)) return
    if (says(group%array, section, sizeof(buf), array, range, ierr, errmsg)) &
      call finish(c_iread_all(group%handle, array, range, c_loc(buf), ticket%handle), ierr, errmsg)
  end subroutine

  subroutine fallsfs_iwrite_all(group, buf, ticket, section, ierr, errmsg)
    type(fallsfs_group), intent(in) :: group
    type(*), dimension(..), intent(in), asynchronous, target :: buf
    type(fallsfs_ticket), intent(out) :: ticket
    type(fallsfs_section), intent(in), optional :: section
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    type(c_array) :: array
    type(c_range) :: range(MAX_DIMS)

    if (.not. stays(is_contiguous(buf), ierr, errmsg)) return
    if (.not. is_joined(group, ierr, errmsg)) return
    if (says(group%array, section, sizeof(buf), array, range, ierr, errmsg)) &
      call finish(c_iwrite_all(group%handle, array, range, c_loc(buf), ticket%handle), ierr, errmsg)
  end subroutine

  subroutine fallsfs_iread_list_all(group, buf, ticket, list, ierr, errmsg)
    type(fallsfs_group), intent(in) :: group
    type(*), dimension(..), intent(inout), asynchronous, target :: buf
    type(fallsfs_ticket), intent(out) :: ticket
    type(fallsfs_list), intent(in), target :: list
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    if (.not. stays(is_contiguous(buf), ierr, errmsg)) return
    if (is_joined(group, ierr, errmsg)) &
      call finish(c_iread_list_all(group%handle, said_list(list, sizeof(buf)), c_loc(buf), ticket%handle), ierr, errmsg)
  end subroutine

  subroutine fallsfs_iwrite_list_all(group, buf, ticket, list, ierr, errmsg)
    type(fallsfs_group), intent(in) :: group
    type(*), dimension(..), intent(in), asynchronous, target :: buf
    type(fallsfs_ticket), intent(out) :: ticket
    type(fallsfs_list), intent(in), target :: list
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    if (.not. stays(is_contiguous(buf), ierr, errmsg)) return
    if (is_joined(group, ierr, errmsg)) &
      call finish(c_iwrite_list_all(group%handle, said_list(list, sizeof(buf)), c_loc(buf), ticket%handle), ierr, &
                  errmsg)
  end subroutine

  function is_under_way(ticket, ierr, errmsg) result(is)
    type(fallsfs_ticket), intent(in) :: ticket
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    logical :: is

    is = c_associated(ticket%handle)
    if (.not. is) call tell(EBADF, 'the ticket is of no request, or of one that is over', ierr, errmsg)
  end function

  ! Returns when the request is over; its error is this call's.
  subroutine fallsfs_wait(ticket, ierr, errmsg)
    type(fallsfs_ticket), intent(inout) :: ticket
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(c_int) :: r

    if (.not. is_under_way(ticket, ierr, errmsg)) return
    r = c_wait(ticket%handle)
    ticket%handle = c_null_ptr
    call finish(r, ierr, errmsg)
  end subroutine

  ! The same without waiting: done tells whether it is over.
  subroutine fallsfs_test(ticket, done, ierr, errmsg)
    type(fallsfs_ticket), intent(inout) :: ticket
    logical, intent(out) :: done
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    logical(c_bool) :: over
    integer(c_int) :: r

    done = .true.
    if (.not. is_under_way(ticket, ierr, errmsg)) return
    over = .true.
    r = c_test(ticket%handle, over)
    done = r < 0 .or. over
    if (done) ticket%handle = c_null_ptr
    call finish(r, ierr, errmsg)
  end subroutine

  ! -- views --

  ! The file is an element of a layout from here on, 'stripe(1M,4) element 2', and the file again with 'one'.
  subroutine fallsfs_view(file, text, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    character(len=*), intent(in) :: text
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg

    call finish(c_view(file%fd, c_text(text)), ierr, errmsg)
  end subroutine

  ! Reads bytes from the byte off on, of the file or its view; fewer where it ends, and n is how many.
  subroutine fallsfs_read_at(file, off, buf, n, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    integer(int64), intent(in) :: off
    type(*), dimension(..), intent(inout), contiguous, target :: buf
    integer(int64), intent(out) :: n
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(c_size_t) :: got

    n = 0
    got = 0
    do while (n < sizeof(buf))
      got = c_pread(file%fd, beyond(c_loc(buf), n), sizeof(buf) - n, off + n)
      if (got <= 0) exit
      n = n + got
    end do
    call finish_system(got < 0, 'reading', ierr, errmsg)
  end subroutine

  subroutine fallsfs_write_at(file, off, buf, ierr, errmsg)
    type(fallsfs_file), intent(in) :: file
    integer(int64), intent(in) :: off
    type(*), dimension(..), intent(in), contiguous, target :: buf
    integer, intent(out), optional :: ierr
    class(*), intent(inout), optional :: errmsg
    integer(c_size_t) :: put
    integer(int64) :: n

    n = 0
    put = 0
    do while (n < sizeof(buf))
      put = c_pwrite(file%fd, beyond(c_loc(buf), n), sizeof(buf) - n, off + n)
      if (put <= 0) exit
      n = n + put
    end do
    call finish_system(put < 0, 'writing', ierr, errmsg)
  end subroutine

  pure function beyond(mem, n) result(at)
    type(c_ptr), intent(in) :: mem
    integer(int64), intent(in) :: n
    type(c_ptr) :: at

    at = transfer(transfer(mem, 0_c_intptr_t) + int(n, c_intptr_t), c_null_ptr)
  end function
end module

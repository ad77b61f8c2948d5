! SPDX-License-Identifier: MIT
! A complete program: heat spreads over a plate that is larger than memory, which several processes walk together.
!
!     gfortran plate.f90 $(pkg-config --cflags --libs fallsfs-fortran) -o plate
!     ./plate /fast/plate 40000 30000 10 4
!
! Each element becomes the mean of its four neighbours; the plate's edges stay, of which the first row is hot. Every
! process walks a block of columns, slab by slab, with one column more on either side, from one file to the other. What
! the others write is read in the next step, for which the processes are forked anew: all have ended the one before.
program plate
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: int64, real32
  use fallsfs
  use fallsfs_slabs
  implicit none

  integer(int64), parameter :: MEMORY = 64 * 2**20 ! of each process
  character(len=1000) :: path(0:1) ! old and new, by turns
  type(fallsfs_array) :: whole
  type(fallsfs_token) :: token(0:1)
  integer :: n_rows, n_columns, n_steps, nranks, step, rank
  logical :: failed
  integer(c_int) :: status

  interface
    function fork() bind(c) result(pid)
      import :: c_int
      integer(c_int) :: pid
    end function
    function wait(status) bind(c) result(pid)
      import :: c_int
      integer(c_int), intent(out) :: status
      integer(c_int) :: pid
    end function
  end interface

  n_rows = number(2)
  n_columns = number(3)
  n_steps = number(4)
  nranks = number(5)
  if (command_argument_count() /= 5 .or. min(n_rows, n_columns) < 3 .or. nranks < 1 .or. n_steps < 1) then
    print '(a)', 'usage: plate FILE ROWS COLUMNS STEPS RANKS, with 3 rows and columns or more'
    stop 2
  end if
  call get_command_argument(1, path(0))
  path(1) = trim(path(0)) // '.next'
  whole = fallsfs_array([n_rows, n_columns], 4)
  call make_plate()
  do step = 1, n_steps
    call fallsfs_new_token(token(0))
    call fallsfs_new_token(token(1))
    failed = .false.
    do rank = 0, nranks - 1
      status = fork()
      if (status == 0) then
        call be_rank(rank, mod(step + 1, 2), mod(step, 2))
        stop
      end if
      if (status < 0) failed = .true.
    end do
    do while (wait(status) > 0)
      if (status /= 0) failed = .true.
    end do
    if (failed) stop 1
  end do
  print '(i0,a,i0,2a)', n_steps, ' steps by ', nranks, ' processes: it is in ', trim(path(mod(n_steps, 2)))

contains

  ! An argument of the command line; 0 where it is no number.
  integer function number(i)
    integer, intent(in) :: i
    character(len=9) :: word

    call get_command_argument(i, word)
    number = 0
    if (word /= '' .and. verify(trim(word), '0123456789') == 0) read (word, *) number
  end function

  ! Nothing is read for what is only written.
  subroutine make_plate()
    type(fallsfs_file) :: file
    type(fallsfs_walker) :: walker
    type(fallsfs_slab) :: slab
    real(real32), pointer, contiguous :: heat(:, :) => null()
    logical :: more

    call fallsfs_open(file, trim(path(0)), whole, create=.true.)
    call fallsfs_slabs_open(walker, fallsfs_slabs_array(file, 'write'), fallsfs_slabs_walk(memory=MEMORY))
    do
      call fallsfs_slabs_next(walker, slab, more)
      if (.not. more) exit
      call fallsfs_slab_memory(slab, heat)
      heat = 0
      heat(1, :) = 100
    end do
    call fallsfs_slabs_close(walker)
    call fallsfs_close(file)
  end subroutine

  subroutine be_rank(rank, from, to)
    integer, intent(in) :: rank, from, to
    type(fallsfs_file) :: file(0:1)
    type(fallsfs_group) :: group(0:1)
    type(fallsfs_walker) :: walker
    type(fallsfs_slab) :: slab(2)
    real(real32), pointer, contiguous :: old(:, :) => null(), new(:, :) => null()
    integer :: i, j
    logical :: more

    do i = 0, 1
      call fallsfs_open(file(i), trim(path(i)), whole, create=.true.)
      call fallsfs_join(file(i), token(i), rank, nranks, group(i))
    end do
    call fallsfs_slabs_open(walker, [fallsfs_slabs_array(group(from), below=[0, 1], above=[0, 1]), &
                                     fallsfs_slabs_array(group(to), 'write')], fallsfs_slabs_walk(memory=MEMORY))
    do
      call fallsfs_slabs_next(walker, slab, more)
      if (.not. more) exit
      call fallsfs_slab_memory(slab(1), old)
      call fallsfs_slab_memory(slab(2), new)
      ! Both have the plate's own indices, whichever part of it they are.
      do j = int(slab(2)%lower(2)), int(slab(2)%upper(2))
        new(:, j) = old(:, j)
        if (j == 1 .or. j == n_columns) cycle
        do i = 2, n_rows - 1
          new(i, j) = ((old(i - 1, j) + old(i + 1, j)) + (old(i, j - 1) + old(i, j + 1))) / 4
        end do
      end do
    end do
    call fallsfs_slabs_close(walker)
    do i = 0, 1
      call fallsfs_leave(group(i))
      call fallsfs_close(file(i))
    end do
  end subroutine
end program

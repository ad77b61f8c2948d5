! SPDX-License-Identifier: MIT
! A complete program: several processes write a matrix together, each a block of its rows, and read it back by columns.
!
!     gfortran example.f90 $(pkg-config --cflags --libs fallsfs-fortran) -o example
!     ./example /fast/matrix 4
!
! The processes are forked here; with MPI, MPI_Bcast would hand the token round.
program example
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: real64
  use fallsfs
  implicit none

  integer, parameter :: SIDE = 1024 ! of the matrix
  type(fallsfs_token) :: token
  character(len=1000) :: path, word
  integer :: nranks, rank, failed
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

  nranks = 0
  call get_command_argument(1, path)
  call get_command_argument(2, word)
  if (command_argument_count() == 2 .and. verify(trim(word), '0123456789') == 0) read (word, *) nranks
  if (nranks < 1 .or. nranks > SIDE) then
    print '(a,i0,a)', 'usage: example FILE RANKS, with a file on a fallsfs mount and 1 to ', SIDE, ' ranks'
    stop 2
  end if

  call fallsfs_new_token(token)
  failed = 0
  do rank = 0, nranks - 1
    status = fork()
    if (status == 0) then
      call be_rank(rank)
      stop
    end if
    if (status < 0) failed = 1
  end do
  do while (wait(status) > 0)
    if (status /= 0) failed = 1
  end do
  if (failed /= 0) stop 1

contains

  ! What belongs at a place of the matrix.
  elemental real(real64) function value(row, column)
    integer, intent(in) :: row, column

    value = real(row, real64) * SIDE + column
  end function

  subroutine be_rank(rank)
    integer, intent(in) :: rank
    type(fallsfs_file) :: matrix
    type(fallsfs_group) :: group
    real(real64), allocatable :: rows(:, :), columns(:, :)
    integer :: first, last, i, j

    first = rank * SIDE / nranks + 1
    last = (rank + 1) * SIDE / nranks
    call fallsfs_open(matrix, trim(path), fallsfs_array([SIDE, SIDE], 8), create=.true.)
    call fallsfs_join(matrix, token, rank, nranks, group)

    allocate (rows(first:last, SIDE))
    do j = 1, SIDE
      rows(:, j) = [(value(i, j), i = first, last)]
    end do
    call fallsfs_write_all(group, rows, fallsfs_section([first, 1], [last, SIDE]))

    allocate (columns(SIDE, first:last))
    call fallsfs_read_all(group, columns, fallsfs_section([1, first], [SIDE, last]))
    do j = first, last
      if (any(columns(:, j) /= [(value(i, j), i = 1, SIDE)])) then
        print '(a,i0,a,i0,a)', 'rank ', rank, ': column ', j, ' is wrong'
        stop 1
      end if
    end do
    print '(a,i0,a,i0,a,i0,a)', 'rank ', rank, ': columns ', first, ' to ', last, ' are right'
    call fallsfs_leave(group)
    call fallsfs_close(matrix)
  end subroutine
end program

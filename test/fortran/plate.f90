! SPDX-License-Identifier: MIT
! What the example of that name has to make, in memory: plate FILE ROWS COLUMNS STEPS.
program plate
  use, intrinsic :: iso_fortran_env
  use fallsfs
  implicit none
  type(fallsfs_file) :: file
  real(real32), allocatable :: heat(:, :), before(:, :)
  integer :: n, m, step

  n = number(2)
  m = number(3)
  allocate (heat(n, m))
  heat = 0
  heat(1, :) = 100
  do step = 1, number(4)
    before = heat
    heat(2:n - 1, 2:m - 1) = ((before(:n - 2, 2:m - 1) + before(3:, 2:m - 1)) + &
                              (before(2:n - 1, :m - 2) + before(2:n - 1, 3:))) / 4
  end do
  call fallsfs_open(file, word(1), fallsfs_array([n, m], 4))
  call fallsfs_read_section(file, before)
  if (any(before /= heat)) stop 1

contains

  function word(i) result(text)
    integer, intent(in) :: i
    character(len=:), allocatable :: text
    character(len=1000) :: room

    call get_command_argument(i, room)
    text = trim(room)
  end function

  integer function number(i)
    integer, intent(in) :: i
    character(len=:), allocatable :: text

    text = word(i)
    read (text, *) number
  end function
end program

! SPDX-License-Identifier: MIT
! What three processes do together, who are told by FALLSFS_RANK, FALLSFS_SIZE and FALLSFS_TOKEN which they are:
! together DIRECTORY PHASE mounted|plain. One process makes and checks, all walk, gather and scatter, each phase after
! the other: where there is no mount groups do not wait, and only who comes later can see what all have written.
program together
  use, intrinsic :: iso_fortran_env
  use fallsfs
  use fallsfs_slabs
  use passion
  use expecting
  implicit none
  integer, parameter :: N_ROWS = 61, N_COLUMNS = 47
  integer, parameter :: FIRST(0:2) = [1, 17, 33], LAST(0:2) = [16, 32, 47] ! columns, as blocks are dealt out
  integer :: rank, nranks
  logical :: is_mounted

  rank = number_of('FALLSFS_RANK')
  nranks = number_of('FALLSFS_SIZE')
  is_mounted = argument(3) == 'mounted'
  select case (argument(2))
  case ('make')
    call make()
  case ('walk')
    call walk_to('along', fallsfs_slabs_walk(memory=6000))
    call walk_to('gridded', fallsfs_slabs_walk(tile=[9_int64, 11_int64], grid=[3_int64, 1_int64]))
    call walk_to('parts', own_columns())
    call write_own_part()
    call write_globally()
  case ('gather')
    call read_own_part()
    call read_globally()
    call gather()
  case ('scatter')
    call scatter()
  case ('check')
    call check('along', stencil_of_all())
    call check('gridded', stencil_of_all())
    call check('parts', stencil_of_all())
    call check('gathered', all_values())
    call check('global', all_values())
    if (is_mounted) call check('dealt', all_values(), 16)
    if (is_mounted) call check_the_highest_wins()
  end select
  if (n_missed > 0) stop 1

contains

  function argument(i) result(text)
    integer, intent(in) :: i
    character(len=:), allocatable :: text
    character(len=1000) :: room

    call get_command_argument(i, room)
    text = trim(room)
  end function

  function number_of(variable) result(number)
    character(len=*), intent(in) :: variable
    character(len=100) :: text
    integer :: number

    call get_environment_variable(variable, text)
    read (text, *) number
  end function

  function in(name) result(path)
    character(len=*), intent(in) :: name
    character(len=:), allocatable :: path

    path = argument(1) // '/' // name
  end function

  function own(name) result(path)
    character(len=*), intent(in) :: name
    character(len=:), allocatable :: path

    path = in(name // achar(iachar('0') + rank))
  end function

  ! Another token for each thing that is done together.
  subroutine make_token(name, token)
    character(len=*), intent(in) :: name
    type(fallsfs_token), intent(out) :: token
    character(len=32) :: text
    integer :: i

    call get_environment_variable('FALLSFS_TOKEN', text)
    write (text(:8), '(z8.8)') sum([(iachar(name(i:i)) * i**3, i = 1, len(name))])
    call fallsfs_token_from(text, token)
  end subroutine

  subroutine join(file, group, name, kind)
    type(fallsfs_file), intent(out) :: file
    type(fallsfs_group), intent(out) :: group
    character(len=*), intent(in) :: name, kind
    type(fallsfs_token) :: token

    call fallsfs_open(file, in(name), fallsfs_array([N_ROWS, N_COLUMNS], 4), create=.true.)
    call make_token(name // kind, token)
    call fallsfs_join(file, token, rank, nranks, group)
  end subroutine

  ! -- what belongs where --

  elemental integer(int32) function value(i, j)
    integer, intent(in) :: i, j

    value = 1000 * i + j * j
  end function

  function all_values() result(whole)
    integer(int32) :: whole(N_ROWS, N_COLUMNS)
    integer :: i, j

    whole = reshape([((value(i, j), i = 1, N_ROWS), j = 1, N_COLUMNS)], shape(whole))
  end function

  ! The sum of the neighbours; edges stay.
  function stencil_of_all() result(new)
    integer(int32) :: old(N_ROWS, N_COLUMNS), new(N_ROWS, N_COLUMNS)
    integer :: i, j

    old = all_values()
    new = old
    do j = 2, N_COLUMNS - 1
      do i = 2, N_ROWS - 1
        new(i, j) = old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1)
      end do
    end do
  end function

  subroutine make()
    type(fallsfs_file) :: file

    call fallsfs_open(file, in('old'), fallsfs_array([N_ROWS, N_COLUMNS], 4), create=.true.)
    call fallsfs_write_section(file, all_values())
    call fallsfs_close(file)
  end subroutine

  subroutine check(name, whole, header)
    character(len=*), intent(in) :: name
    integer(int32), intent(in) :: whole(N_ROWS, N_COLUMNS)
    integer, intent(in), optional :: header
    integer(int32) :: now(N_ROWS, N_COLUMNS)
    type(fallsfs_file) :: file

    call fallsfs_open(file, in(name), fallsfs_array([N_ROWS, N_COLUMNS], 4, header))
    call fallsfs_read_section(file, now)
    call expect(all(now == whole), name)
    call fallsfs_close(file)
  end subroutine

  ! -- slabs --

  ! The middle process has the most, and the others empty slabs at the end.
  function own_columns() result(walk)
    type(fallsfs_slabs_walk) :: walk

    walk = fallsfs_slabs_walk(tile=[0_int64, 4_int64], rounds=7, prefetch=0)
    select case (rank)
    case (0)
      allocate (walk%part, source=fallsfs_section([1, 1], [N_ROWS, 5]))
    case (1)
      allocate (walk%part, source=fallsfs_section([1, 6], [N_ROWS, 30]))
    case default
      allocate (walk%part, source=fallsfs_section([1, 31], [N_ROWS, N_COLUMNS]))
    end select
  end function

  subroutine walk_to(name, walk)
    character(len=*), intent(in) :: name
    type(fallsfs_slabs_walk), intent(in) :: walk
    type(fallsfs_file) :: file(2)
    type(fallsfs_group) :: group(2)
    type(fallsfs_walker) :: walker
    type(fallsfs_slab) :: slab(2)
    type(fallsfs_slabs_stats) :: stats
    type(fallsfs_group_stats) :: last
    integer(int32), pointer, contiguous :: old(:, :) => null(), new(:, :) => null()
    integer :: i, j
    logical :: more

    call join(file(1), group(1), 'old', name)
    call join(file(2), group(2), name, '')
    call fallsfs_slabs_open(walker, [fallsfs_slabs_array(group(1), below=[1, 1], above=[1, 1]), &
                                     fallsfs_slabs_array(group(2), 'write')], walk)
    do
      call fallsfs_slabs_next(walker, slab, more)
      if (.not. more) exit
      call fallsfs_slab_memory(slab(1), old)
      call fallsfs_slab_memory(slab(2), new)
      do j = int(slab(2)%lower(2)), int(slab(2)%upper(2))
        do i = int(slab(2)%lower(1)), int(slab(2)%upper(1))
          new(i, j) = old(i, j)
          if (i > 1 .and. i < N_ROWS .and. j > 1 .and. j < N_COLUMNS) &
            new(i, j) = old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1)
        end do
      end do
    end do
    stats = fallsfs_slabs_stats(walker)
    if (name == 'parts') call expect(stats%rounds == 7, 'as many slabs as the one with the most has')
    call fallsfs_slabs_close(walker)
    call fallsfs_stats(group(2), last)
    call expect(last%calls > 0 .and. last%by_itself == merge(0, 1, is_mounted), 'what the last request did')
    do i = 1, 2
      call fallsfs_leave(group(i))
      call fallsfs_close(file(i))
    end do
  end subroutine

  ! -- PASSION: columns are dealt out in blocks --

  subroutine fill(matrix)
    type(OCAD), intent(out) :: matrix

    call PASSION_malloc_OCAD(matrix, 2)
    call PASSION_fill_OCAD(matrix, [N_ROWS, N_COLUMNS], reshape([PASSION_NONE, 0, PASSION_BLOCK, 0], [2, 2]), &
                           [1, nranks], icla_size=reshape([0, 0, 3, 0], [2, 2]), &
                           overlap=reshape([0, 0, 1, 0], [2, 2]), elemsize=4)
  end subroutine

  function own_values() result(mine)
    integer(int32), allocatable :: mine(:, :)
    integer(int32) :: whole(N_ROWS, N_COLUMNS)

    whole = all_values()
    mine = whole(:, FIRST(rank):LAST(rank))
  end function

  subroutine write_own_part()
    type(OCAD) :: matrix
    type(PFILE) :: file
    character(len=16) :: header

    header = 'sixteen letters.'
    call fill(matrix)
    call PASSION_open(file, own('dealt:'), 16)
    if (rank == 0 .or. .not. is_mounted) call PASSION_write_header(file, header)
    call PASSION_write(file, matrix, own_values())
    call PASSION_close(file)
    call PASSION_open(file, own('own.'))
    call PASSION_write(file, matrix, own_values())
    call PASSION_close(file)
    call PASSION_free_OCAD(matrix)
  end subroutine

  subroutine read_own_part()
    type(OCAD) :: matrix
    type(PFILE) :: file
    type(REUSE) :: walk
    type(PREFETCH) :: ahead
    integer(int32) :: memory(N_ROWS, 4)
    integer(int32), allocatable :: mine(:, :)
    integer(int32), target, asynchronous :: column(N_ROWS, 4)
    character(len=16) :: header
    integer :: at, n

    mine = own_values()
    call fill(matrix)
    call PASSION_open(file, own('dealt:'), 16)
    call PASSION_read_header(file, header)
    call expect(header == 'sixteen letters.', 'the header')
    call PASSION_read_prefetch(ahead, file, matrix, column, [1, 2], reshape([1, N_ROWS, 1, 9, 11, 1], [3, 2]))
    call PASSION_reuse_init(walk, file, matrix, 1)
    at = 1
    do
      call PASSION_read_reuse(walk, memory, n)
      if (n < 0) exit
      call expect(all(memory(:, 2:n + 1) == mine(:, at:at + n - 1)), 'a part of mine')
      if (at > 1) call expect(all(memory(:, 1) == mine(:, at - 1)), 'and its overlap')
      at = at + n
    end do
    call expect(at == size(mine, 2) + 1, 'all of mine')
    call PASSION_prefetch_wait(ahead)
    call expect(all(column(:, 2:) == mine(:, 9:11)), 'what was read ahead')
    call PASSION_close(file)
    call PASSION_free_OCAD(matrix)
  end subroutine

  ! Every third row, from memory with room around it; then all write the same place.
  subroutine write_globally()
    type(OCAD) :: matrix
    type(PFILE) :: file
    integer(int32) :: whole(N_ROWS, N_COLUMNS), memory(25, 50), rows(5, 5)
    integer :: n

    whole = all_values()
    n = size(whole(rank + 1::3, :), 1)
    memory(3:n + 2, 2:N_COLUMNS + 1) = whole(rank + 1::3, :)
    call PASSION_malloc_OCAD(matrix, 2)
    call PASSION_fill_OCAD(matrix, [N_ROWS, N_COLUMNS], icla_size=reshape([21, 25, N_COLUMNS, 50], [2, 2]), elemsize=4)
    call PASSION_open(file, in('global'))
    call PASSION_global_write(file, matrix, memory, [3, 2], reshape([rank + 1, N_ROWS, 3, 1, N_COLUMNS, 1], [3, 2]), &
                              nranks)
    call PASSION_close(file)
    rows = -rank
    call PASSION_fill_OCAD(matrix, [N_ROWS, N_COLUMNS], elemsize=4)
    call PASSION_open(file, in('wins'))
    call PASSION_global_write(file, matrix, rows, AccessArray=reshape([1, 5, 1, 1, 5, 1], [3, 2]), nprocs=nranks)
    call PASSION_close(file)
    call PASSION_free_OCAD(matrix)
  end subroutine

  subroutine check_the_highest_wins()
    type(OCAD) :: matrix
    type(PFILE) :: file
    integer(int32) :: rows(5, 5)

    call PASSION_malloc_OCAD(matrix, 2)
    call PASSION_fill_OCAD(matrix, [N_ROWS, N_COLUMNS], elemsize=4)
    call PASSION_open(file, in('wins'))
    call PASSION_global_read(file, matrix, rows, AccessArray=reshape([1, 5, 1, 1, 5, 1], [3, 2]), nprocs=1)
    call expect(all(rows == -2), 'the highest process wins')
    call PASSION_close(file)
    call PASSION_free_OCAD(matrix)
  end subroutine

  ! Who asks for more than has room gets an error, and the others what they ask for.
  subroutine read_globally()
    type(OCAD) :: matrix
    type(PFILE) :: file
    integer(int32), allocatable :: mine(:, :)
    integer(int64) :: access(3, 2)

    call PASSION_malloc_OCAD(matrix, 2)
    call PASSION_fill_OCAD(matrix, [N_ROWS, N_COLUMNS], elemsize=4)
    call PASSION_open(file, in('global'))
    access = reshape([1, N_ROWS, 1, FIRST(rank), LAST(rank), 1], [3, 2])
    allocate (mine(N_ROWS, LAST(rank) - FIRST(rank) + 1))
    call PASSION_global_read(file, matrix, mine, AccessArray=access, nprocs=nranks)
    call expect(all(mine == own_values()), 'columns, together')
    if (rank == 1) then
      call PASSION_global_read(file, matrix, mine(:, 2:), AccessArray=access, nprocs=nranks, ierr=expect_ierr)
      call expect(expect_ierr == 22, 'who has no room')
    else
      mine = 0
      call PASSION_global_read(file, matrix, mine, AccessArray=access, nprocs=nranks)
      call expect(all(mine == own_values()), 'columns, with one that has no room')
    end if
    call PASSION_close(file)
    call PASSION_free_OCAD(matrix)
  end subroutine

  ! From files of each process' own to one, and then the other way round.
  subroutine gather()
    type(OCAD) :: matrix
    type(PFILE) :: mine, whole

    call fill(matrix)
    call PASSION_open(mine, own('own.'))
    call PASSION_open(whole, in('gathered'))
    call fallsfs_passion_to_global(mine, whole, matrix)
    call PASSION_close(mine)
    call PASSION_close(whole)
    call PASSION_free_OCAD(matrix)
  end subroutine

  subroutine scatter()
    type(OCAD) :: matrix
    type(PFILE) :: mine, whole
    integer(int32), allocatable :: values(:, :)

    call fill(matrix)
    call PASSION_open(mine, own('again.'))
    call PASSION_open(whole, in('gathered'))
    call fallsfs_passion_to_local(mine, whole, matrix)
    allocate (values, source=own_values())
    values = 0
    call PASSION_read(mine, matrix, values)
    call expect(all(values == own_values()), 'mine again')
    call PASSION_close(mine)
    call PASSION_close(whole)
    call PASSION_free_OCAD(matrix)
  end subroutine
end program

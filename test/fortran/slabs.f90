! SPDX-License-Identifier: MIT
! Slabs, as a program uses them that was built with what is installed: slabs DIRECTORY.
program slabs
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  use fallsfs
  use fallsfs_slabs
  use expecting
  implicit none
  character(len=1000) :: directory

  call get_command_argument(1, directory)
  call random_walks()
  call in_step()
  call in_place()
  call parts()
  call empty_parts()
  call all_types()
  call other_types()
  call all_ranks()
  call by_rows()
  call refusals()
  call errors_of_files()
  if (n_missed > 0) stop 1
  print '(a)', 'all is right'

contains

  subroutine open_array(file, name, array, whole)
    type(fallsfs_file), intent(out) :: file
    character(len=*), intent(in) :: name
    type(fallsfs_array), intent(in) :: array
    type(*), dimension(..), intent(in), contiguous, target :: whole

    call fallsfs_open(file, trim(directory) // '/' // name, array, create=.true.)
    call fallsfs_write_section(file, whole)
  end subroutine

  ! Walks along each dimension and in tiles, with halos: each index comes once, and what is seen is what is in the file.
  subroutine random_walks()
    integer, parameter :: SHAPE_OF(3) = [23, 17, 11]
    type(fallsfs_file) :: file
    type(fallsfs_walker) :: walker
    type(fallsfs_slab) :: slab
    type(fallsfs_slabs_walk) :: walk
    type(fallsfs_slabs_stats) :: stats
    real(real64), pointer, contiguous :: seen(:, :, :) => null()
    real(real64) :: whole(23, 17, 11)
    integer :: times(23, 17, 11), below(3), above(3), n, i
    integer(int64) :: first(3), last(3)
    logical :: more
    real :: r(12)

    whole = reshape([(real(i, real64), i = 1, size(whole))], SHAPE_OF)
    call open_array(file, 'random', fallsfs_array(SHAPE_OF, 8, header=24), whole)
    do n = 1, 100
      call random_number(r)
      below = int(r(1:3) * 4)
      above = int(r(4:6) * 4)
      walk = fallsfs_slabs_walk(axis=int(r(7) * 4), prefetch=int(r(8) * 4))
      if (r(9) < 0.5) allocate (walk%tile, source=int(1 + r(10:12) * SHAPE_OF, int64))
      if (r(9) > 0.5) walk%memory = int(100000 + r(10) * 1e6, int64)
      times = 0
      call fallsfs_slabs_open(walker, fallsfs_slabs_array(file, below=below, above=above), walk)
      do
        call fallsfs_slabs_next(walker, slab, more)
        if (.not. more) exit
        first = max(slab%lower - below, 1_int64)
        last = min(slab%upper + above, int(SHAPE_OF, int64))
        call fallsfs_slab_memory(slab, seen)
        call expect(all(lbound(seen) == first) .and. all(ubound(seen) == last), 'bounds are indices of the array')
        call expect(all(slab%first == first) .and. all(slab%last == last), 'and are told')
        call expect(all(seen == whole(first(1):last(1), first(2):last(2), first(3):last(3))), 'a slab and its halo')
        associate (l => slab%lower, u => slab%upper)
          times(l(1):u(1), l(2):u(2), l(3):u(3)) = times(l(1):u(1), l(2):u(2), l(3):u(3)) + 1
        end associate
      end do
      call expect(all(times == 1), 'every index once')
      stats = fallsfs_slabs_stats(walker)
      call expect(stats%bytes_read == size(whole) * 8, 'every byte once')
      if (walk%memory > 0) call expect(stats%memory <= walk%memory, 'no more memory than is allowed')
      call fallsfs_slabs_close(walker)
    end do
    call fallsfs_close(file)
  end subroutine

  ! A mean of neighbours, from one array to another.
  subroutine in_step()
    type(fallsfs_file) :: file(2)
    type(fallsfs_walker) :: walker
    type(fallsfs_slab) :: slab(2)
    type(fallsfs_slabs_stats) :: stats
    real(real32), pointer, contiguous :: old(:, :) => null(), new(:, :) => null()
    real(real32) :: before(60, 70), after(60, 70), now(60, 70)
    integer :: j
    logical :: more

    call random_number(before)
    after = 0
    call open_array(file(1), 'before', fallsfs_array([60, 70], 4), before)
    call open_array(file(2), 'after', fallsfs_array([60, 70], 4, header=100), after)
    call fallsfs_slabs_open(walker, [fallsfs_slabs_array(file(1), 'read', [0, 1], [0, 1]), &
                                     fallsfs_slabs_array(file(2), 'write')], fallsfs_slabs_walk(memory=15000))
    do
      call fallsfs_slabs_next(walker, slab, more)
      if (.not. more) exit
      call fallsfs_slab_memory(slab(1), old)
      call fallsfs_slab_memory(slab(2), new)
      do j = int(slab(2)%lower(2)), int(slab(2)%upper(2))
        new(:, j) = old(:, j)
        if (j > 1 .and. j < 70) new(:, j) = (old(:, j - 1) + old(:, j + 1)) / 2
      end do
    end do
    stats = fallsfs_slabs_stats(walker)
    call expect(stats%rounds > 3 .and. stats%bytes_written == size(after) * 4, 'slabs that memory has room for')
    call fallsfs_slabs_close(walker)
    after = before
    after(:, 2:69) = (before(:, :68) + before(:, 3:)) / 2
    call fallsfs_read_section(file(2), now)
    call expect(all(now == after), 'two arrays in step')
    call fallsfs_close(file(1))
    call fallsfs_close(file(2))
  end subroutine

  ! A halo has what was there before the walk, also where the walk has written since.
  subroutine in_place()
    type(fallsfs_file) :: file
    type(fallsfs_walker) :: walker
    type(fallsfs_slab) :: slab
    integer(int64), pointer :: line(:) => null()
    integer(int64) :: whole(1000), now(1000), sums(1000)
    integer :: i
    logical :: more

    whole = [(int(i, int64)**2, i = 1, 1000)]
    call open_array(file, 'in place', fallsfs_array([1000], 8), whole)
    call fallsfs_slabs_open(walker, fallsfs_slabs_array(file, 'readwrite', below=[1]), &
                            fallsfs_slabs_walk(tile=[70_int64]))
    do
      call fallsfs_slabs_next(walker, slab, more)
      if (.not. more) exit
      call fallsfs_slab_memory(slab, line)
      associate (l => slab%lower(1), u => slab%upper(1))
        if (l == 1) line(2:u) = line(2:u) + [line(1:u - 1)]
        if (l > 1) line(l:u) = line(l:u) + [line(l - 1:u - 1)]
      end associate
    end do
    call fallsfs_slabs_close(walker)
    sums = whole
    sums(2:) = whole(2:) + whole(:999)
    call fallsfs_read_section(file, now)
    call expect(all(now == sums), 'in place, with a halo')
    call fallsfs_close(file)
  end subroutine

  subroutine parts()
    type(fallsfs_file) :: file
    type(fallsfs_walker) :: walker
    type(fallsfs_slab) :: slab
    type(fallsfs_slabs_walk) :: walk
    integer(int32), pointer :: seen(:, :) => null()
    integer(int32) :: whole(40, 30)
    integer :: i, n
    logical :: more

    whole = reshape([(i, i = 1, size(whole))], shape(whole))
    call open_array(file, 'parts', fallsfs_array(shape(whole), 4), whole)
    walk = fallsfs_slabs_walk(axis=1, tile=[7_int64, 0_int64])
    allocate (walk%part, source=fallsfs_section([11, 5], [33, 9]))
    call fallsfs_slabs_open(walker, fallsfs_slabs_array(file, below=[2, 0]), walk)
    n = 0
    do
      call fallsfs_slabs_next(walker, slab, more)
      if (.not. more) exit
      call fallsfs_slab_memory(slab, seen)
      call expect(slab%lower(1) == 11 + 7 * n .and. slab%upper(1) == min(17 + 7 * n, 33), 'slabs of a part')
      call expect(slab%first(1) == slab%lower(1) - 2, 'whose halo lies before it')
      call expect(all(seen == whole(slab%first(1):slab%last(1), 5:9)), 'and is read')
      n = n + 1
    end do
    call expect(n == 4, 'as many as it has')
    call fallsfs_slabs_close(walker)
    call fallsfs_close(file)
  end subroutine

  subroutine empty_parts()
    type(fallsfs_file) :: file
    type(fallsfs_walker) :: walker
    type(fallsfs_slab) :: slab
    type(fallsfs_slabs_walk) :: walk
    integer(int32) :: whole(5, 5)
    integer :: n
    logical :: more

    whole = 1
    call open_array(file, 'empty', fallsfs_array([5, 5], 4), whole)
    allocate (walk%part, source=fallsfs_section([3, 1], [2, 5]))
    call fallsfs_slabs_open(walker, fallsfs_slabs_array(file), walk)
    n = 0
    do
      call fallsfs_slabs_next(walker, slab, more)
      if (.not. more) exit
      n = n + 1
    end do
    call expect(n == 0, 'no slabs of nothing')
    call fallsfs_slabs_close(walker)
    call fallsfs_close(file)
  end subroutine

  subroutine first_slab(file, array, walker, slab)
    type(fallsfs_file), intent(inout) :: file
    type(fallsfs_array), intent(in) :: array
    type(fallsfs_walker), intent(out) :: walker
    type(fallsfs_slab), intent(out) :: slab
    logical :: more

    file%array = array
    call fallsfs_slabs_open(walker, fallsfs_slabs_array(file))
    call fallsfs_slabs_next(walker, slab, more)
    call expect(more, 'a slab')
  end subroutine

  ! The first slab of a file of 48 bytes, for pointers of any type.
  subroutine all_types()
    type(fallsfs_file) :: file
    type(fallsfs_walker) :: walker
    type(fallsfs_slab) :: slab
    integer(int8), pointer :: i1(:) => null()
    integer(int16), pointer :: i2(:) => null()
    integer(int32), pointer :: i4(:) => null()
    integer(int64), pointer :: i8(:) => null()
    real(real32), pointer :: r4(:) => null()
    real(real64), pointer :: r8(:) => null()
    complex(real32), pointer :: c8(:) => null()
    complex(real64), pointer :: c16(:) => null()
    logical, pointer :: l4(:) => null()
    logical(c_bool), pointer :: l1(:) => null()
    character(len=6), pointer :: text(:) => null()
    complex(real64) :: whole(3)

    whole = [(1, 2), (3, 4), (5, 6)]
    call open_array(file, 'types', fallsfs_array([3], 16), whole)
    call first_slab(file, fallsfs_array([48], 1), walker, slab)
    call fallsfs_slab_memory(slab, i1)
    call expect(size(i1) == 48 .and. all(i1 == transfer(whole, i1)), 'int8')
    call fallsfs_slabs_close(walker)
    call first_slab(file, fallsfs_array([48], 1), walker, slab)
    call fallsfs_slab_memory(slab, l1)
    call expect(size(l1) == 48, 'c_bool')
    call fallsfs_slabs_close(walker)
    call first_slab(file, fallsfs_array([24], 2), walker, slab)
    call fallsfs_slab_memory(slab, i2)
    call expect(size(i2) == 24 .and. all(i2 == transfer(whole, i2)), 'int16')
    call fallsfs_slabs_close(walker)
    call first_slab(file, fallsfs_array([12], 4), walker, slab)
    call fallsfs_slab_memory(slab, i4)
    call expect(size(i4) == 12 .and. all(i4 == transfer(whole, i4)), 'int32')
    call fallsfs_slab_memory(slab, r4)
    call expect(size(r4) == 12 .and. all(transfer(r4, i4) == i4), 'real32')
    call fallsfs_slab_memory(slab, l4)
    call expect(size(l4) == 12, 'logical')
    call fallsfs_slabs_close(walker)
    call first_slab(file, fallsfs_array([8], 6), walker, slab)
    call fallsfs_slab_memory(slab, text)
    call expect(size(text) == 8 .and. all(text == transfer(whole, text)), 'character')
    call fallsfs_slabs_close(walker)
    call first_slab(file, fallsfs_array([6], 8), walker, slab)
    call fallsfs_slab_memory(slab, i8)
    call expect(size(i8) == 6 .and. all(i8 == transfer(whole, i8)), 'int64')
    call fallsfs_slab_memory(slab, r8)
    call expect(size(r8) == 6 .and. all(r8 == [1, 2, 3, 4, 5, 6]), 'real64')
    call fallsfs_slab_memory(slab, c8)
    call expect(size(c8) == 6 .and. all(transfer(c8, r8) == r8), 'complex of real32')
    call fallsfs_slabs_close(walker)
    call first_slab(file, fallsfs_array([3], 16), walker, slab)
    call fallsfs_slab_memory(slab, c16)
    call expect(all(c16 == whole), 'complex of real64')
    call fallsfs_slabs_close(walker)
    call fallsfs_close(file)
  end subroutine

  ! Types of the program's own have c_f_pointer.
  subroutine other_types()
    type, bind(c) :: particle
      real(c_double) :: place(3)
      integer(c_int64_t) :: number
    end type
    type(particle), pointer :: some(:)
    type(particle) :: swarm(10)
    type(fallsfs_file) :: file
    type(fallsfs_walker) :: walker
    type(fallsfs_slab) :: slab
    integer :: i
    logical :: more

    swarm = [(particle([1.d0, 2.d0, 3.d0] * i, i), i = 1, 10)]
    call open_array(file, 'swarm', fallsfs_array([10], int(storage_size(swarm)) / 8), swarm)
    call fallsfs_slabs_open(walker, fallsfs_slabs_array(file), fallsfs_slabs_walk(tile=[3_int64]))
    do
      call fallsfs_slabs_next(walker, slab, more)
      if (.not. more) exit
      call c_f_pointer(slab%bytes, some, slab%last - slab%first + 1)
      call expect(all(some%number == swarm(slab%first(1):slab%last(1))%number), 'a type of its own')
    end do
    call fallsfs_slabs_close(walker)
    call fallsfs_close(file)
  end subroutine

  subroutine all_ranks()
    type(fallsfs_file) :: file
    type(fallsfs_walker) :: walker
    type(fallsfs_slab) :: slab
    integer(int32), allocatable :: whole(:)
    integer(int32), pointer :: one(:) => null(), four(:, :, :, :) => null(), seven(:, :, :, :, :, :, :) => null()
    integer(int32), pointer :: fifteen(:, :, :, :, :, :, :, :, :, :, :, :, :, :, :) => null()
    integer :: i

    whole = [(i, i = 1, 32768)]
    call open_array(file, 'ranks', fallsfs_array([size(whole)], 4), whole)
    call first_slab(file, fallsfs_array([(2, i = 1, 1)], 4), walker, slab)
    call fallsfs_slab_memory(slab, one)
    call expect(all(one == whole(:2)), 'rank 1')
    call fallsfs_slabs_close(walker)
    call first_slab(file, fallsfs_array([(2, i = 1, 4)], 4), walker, slab)
    call fallsfs_slab_memory(slab, four)
    call expect(all(reshape(four, [16]) == whole(:16)), 'rank 4')
    call fallsfs_slabs_close(walker)
    call first_slab(file, fallsfs_array([(2, i = 1, 7)], 4), walker, slab)
    call fallsfs_slab_memory(slab, seven)
    call expect(all(reshape(seven, [128]) == whole(:128)), 'rank 7')
    call fallsfs_slabs_close(walker)
    call first_slab(file, fallsfs_array([(2, i = 1, 15)], 4), walker, slab)
    call fallsfs_slab_memory(slab, fifteen)
    call expect(all(reshape(fifteen, [32768]) == whole), 'rank 15')
    call fallsfs_slabs_close(walker)
    call fallsfs_close(file)
  end subroutine

  ! What lies row by row is walked along its rows, which is the dimension that comes last here.
  subroutine by_rows()
    type(fallsfs_file) :: file
    type(fallsfs_walker) :: walker
    type(fallsfs_slab) :: slab
    integer(int16), pointer :: rows(:, :) => null()
    integer(int16) :: matrix(4, 3)
    integer :: i
    logical :: more

    matrix = reshape([(int(i, int16), i = 1, 12)], [4, 3])
    call open_array(file, 'rows', fallsfs_array([4, 3], 2), matrix)
    call fallsfs_slabs_open(walker, fallsfs_slabs_array(file), fallsfs_slabs_walk(tile=[0_int64, 1_int64]))
    do i = 1, 3
      call fallsfs_slabs_next(walker, slab, more)
      call fallsfs_slab_memory(slab, rows)
      call expect(more .and. slab%lower(2) == i .and. all(rows(:, i) == matrix(:, i)), 'a row')
    end do
    call fallsfs_slabs_next(walker, slab, more)
    call expect(.not. more, 'no more rows')
    call fallsfs_slabs_close(walker)
    call fallsfs_close(file)
  end subroutine

  subroutine refusals()
    type(fallsfs_file) :: file, nothing
    type(fallsfs_group) :: nobody
    type(fallsfs_walker) :: walker
    type(fallsfs_slab) :: slab, two(2), untouched
    type(fallsfs_slabs_stats) :: stats
    type(fallsfs_slabs_walk) :: walk
    integer(int32), pointer :: line(:) => null()
    integer(int16), pointer :: short(:, :) => null()
    integer(int32) :: whole(4, 6)
    logical :: more

    whole = 1
    call open_array(file, 'refused', fallsfs_array([4, 6], 4), whole)
    call refused(fallsfs_slabs_array(nothing), fallsfs_slabs_walk(), 'nobody has said')
    call refused(fallsfs_slabs_array(nobody), fallsfs_slabs_walk(), 'was not joined')
    call refused(fallsfs_slabs_array(file, 'erase'), fallsfs_slabs_walk(), '''read'', ''write''')
    call refused(fallsfs_slabs_array(file, below=[1]), fallsfs_slabs_walk(), 'for each dimension')
    call refused(fallsfs_slabs_array(file, above=[1, -1]), fallsfs_slabs_walk(), 'no less than 0')
    call refused(fallsfs_slabs_array(file, 'write', [1, 1]), fallsfs_slabs_walk(), 'a halo is read')
    call refused(fallsfs_slabs_array(file), fallsfs_slabs_walk(axis=3), 'no dimension 3')
    call refused(fallsfs_slabs_array(file), fallsfs_slabs_walk(axis=-1), 'no dimension -1')
    call refused(fallsfs_slabs_array(file), fallsfs_slabs_walk(prefetch=-1), 'no less than 0')
    call refused(fallsfs_slabs_array(file), fallsfs_slabs_walk(prefetch=99), 'too many requests')
    call refused(fallsfs_slabs_array(file), fallsfs_slabs_walk(memory=-1), 'no less than 0')
    call refused(fallsfs_slabs_array(file), fallsfs_slabs_walk(tile=[1_int64]), 'a tile has a size')
    call refused(fallsfs_slabs_array(file), fallsfs_slabs_walk(tile=[1_int64, -1_int64]), 'a tile has no less')
    call refused(fallsfs_slabs_array(file), fallsfs_slabs_walk(grid=[1_int64, 1_int64]), 'to a group''s ranks')
    allocate (walk%part, source=fallsfs_section([1, 1], [5, 6]))
    call refused(fallsfs_slabs_array(file), walk, 'reaches out of the array')
    call fallsfs_slabs_open(walker, fallsfs_slabs_array(file), fallsfs_slabs_walk(memory=1), expect_ierr, expect_words)
    call expect(expect_ierr == 12 .and. index(expect_words, 'bytes of memory at least') > 0, 'too little memory')
    call fallsfs_slabs_close(walker, expect_ierr)
    call expect(expect_ierr == 9, 'a walk that did not begin')
    call fallsfs_slabs_next(walker, slab, more, expect_ierr)
    call expect(expect_ierr == 9 .and. .not. more, 'nor goes on')
    stats = fallsfs_slabs_stats(walker)
    call expect(stats%rounds == 0, 'nor has done anything')
    call fallsfs_slabs_open(walker, [fallsfs_slabs_array ::], ierr=expect_ierr, errmsg=expect_words)
    call expect(expect_ierr == 22 .and. index(expect_words, 'no array') > 0, 'nothing to walk')

    call fallsfs_slab_memory(untouched, line, expect_ierr, expect_words)
    call expect(expect_ierr == 22 .and. index(expect_words, 'not handed out') > 0, 'no slab yet')
    call fallsfs_slabs_open(walker, fallsfs_slabs_array(file))
    call fallsfs_slabs_next(walker, two, more, expect_ierr, expect_words)
    call expect(expect_ierr == 22 .and. index(expect_words, 'a slab of each array, which are 1') > 0, 'a slab too many')
    call fallsfs_slabs_next(walker, slab, more)
    call fallsfs_slab_memory(slab, line, expect_ierr, expect_words)
    call expect(expect_ierr == 22 .and. &
                expect_words == 'the slab has 2 dimensions and elements of 4 bytes, the pointer 1 and 4', &
                'another rank')
    call fallsfs_slab_memory(slab, short, expect_ierr)
    call expect(expect_ierr == 22, 'another type')
    call fallsfs_slabs_close(walker)
    call fallsfs_close(file)
  end subroutine

  subroutine refused(array, walk, why)
    type(fallsfs_slabs_array), intent(in) :: array
    type(fallsfs_slabs_walk), intent(in) :: walk
    character(len=*), intent(in) :: why
    type(fallsfs_walker) :: walker

    call fallsfs_slabs_open(walker, array, walk, expect_ierr, expect_words)
    call expect(expect_ierr == 22 .and. index(expect_words, why) > 0, why // ': ' // trim(expect_words))
  end subroutine

  subroutine errors_of_files()
    type(fallsfs_file) :: file, only
    type(fallsfs_walker) :: walker
    integer(int32) :: whole(100)
    integer :: i

    whole = [(i, i = 1, 100)]
    call open_array(file, 'only read', fallsfs_array([100], 4), whole)
    call fallsfs_open(only, trim(directory) // '/only read', fallsfs_array([100], 4))
    call fallsfs_slabs_open(walker, fallsfs_slabs_array(only, 'readwrite'), fallsfs_slabs_walk(tile=[10_int64]), &
      expect_ierr, expect_words)
    call expect(expect_ierr == 9, 'a file that was opened to be read is not written: ' // trim(expect_words))
    call fallsfs_read_section(file, whole)
    call expect(all(whole == [(i, i = 1, 100)]), 'it is as it was')
    call fallsfs_close(only)
    call fallsfs_close(file)
  end subroutine
end program

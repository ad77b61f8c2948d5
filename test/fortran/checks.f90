! SPDX-License-Identifier: MIT
! The Fortran module, as a program uses it that was built with what is installed: checks DIRECTORY, on a mount.
program checks
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  use fallsfs
  use expecting
  implicit none
  character(len=1000) :: directory

  call get_command_argument(1, directory)
  call all_types()
  call all_ranks()
  call sections()
  call by_rows()
  call said_of_files()
  call lists()
  call groups()
  call elements()
  call without_waiting()
  call tickets()
  call views()
  call errors()
  if (n_missed > 0) stop 1
  print '(a)', 'all is right'

contains

  function in(name) result(path)
    character(len=*), intent(in) :: name
    character(len=:), allocatable :: path

    path = trim(directory) // '/' // name
  end function

  ! A file of 1-byte elements that are their offsets.
  subroutine open_bytes(file, name, n)
    type(fallsfs_file), intent(out) :: file
    character(len=*), intent(in) :: name
    integer, intent(in) :: n
    integer(int8), allocatable :: bytes(:)
    integer :: i

    call fallsfs_open(file, in(name), fallsfs_array([n], 1), create=.true.)
    bytes = [(int(mod(i, 128), int8), i = 0, n - 1)]
    call fallsfs_write_section(file, bytes)
  end subroutine

  subroutine all_types()
    type(fallsfs_file) :: file
    integer(int16), allocatable :: i2(:), i2_back(:)
    integer(int64), allocatable :: i8(:), i8_back(:)
    real(real32), allocatable :: r4(:), r4_back(:)
    complex(real64), allocatable :: c16(:), c16_back(:)
    logical, allocatable :: l4(:), l4_back(:)
    character(len=5), allocatable :: text(:), text_back(:)
    type, bind(c) :: particle
      real(c_double) :: place(3)
      integer(c_int64_t) :: number
    end type
    type(particle), allocatable :: swarm(:), swarm_back(:)
    integer :: i

    i2 = [(int(i * i, int16), i = 1, 100)]
    i8 = [(int(i, int64)**9, i = 1, 100)]
    r4 = [(1.0 / i, i = 1, 100)]
    c16 = [(cmplx(i, -i, real64), i = 1, 100)]
    l4 = [(mod(i, 3) == 0, i = 1, 100)]
    text = [(repeat(achar(iachar('a') + mod(i, 26)), 5), i = 1, 100)]
    swarm = [(particle([1.d0 * i, 2.d0, 3.d0], i), i = 1, 100)]
    allocate (i2_back(100), i8_back(100), r4_back(100), c16_back(100), l4_back(100), text_back(100), swarm_back(100))

    call fallsfs_open(file, in('types'), fallsfs_array([100], 2), create=.true.)
    call fallsfs_write_section(file, i2)
    call fallsfs_read_section(file, i2_back)
    call expect(all(i2 == i2_back), 'int16')
    file%array%elem = 8
    call fallsfs_write_section(file, i8)
    call fallsfs_read_section(file, i8_back)
    call expect(all(i8 == i8_back), 'int64')
    file%array%elem = 4
    call fallsfs_write_section(file, r4)
    call fallsfs_read_section(file, r4_back)
    call expect(all(r4 == r4_back), 'real32')
    call fallsfs_write_section(file, l4)
    call fallsfs_read_section(file, l4_back)
    call expect(all(l4 .eqv. l4_back), 'logical')
    file%array%elem = 16
    call fallsfs_write_section(file, c16)
    call fallsfs_read_section(file, c16_back)
    call expect(all(c16 == c16_back), 'complex')
    file%array%elem = 5
    call fallsfs_write_section(file, text)
    call fallsfs_read_section(file, text_back)
    call expect(all(text == text_back), 'character')
    file%array%elem = storage_size(swarm) / 8
    call fallsfs_write_section(file, swarm)
    call fallsfs_read_section(file, swarm_back)
    call expect(all(swarm%number == swarm_back%number) .and. all(swarm%place(1) == swarm_back%place(1)), 'a type')
    call fallsfs_close(file)
  end subroutine

  subroutine all_ranks()
    type(fallsfs_file) :: file
    integer(int32) :: one(3), two(3, 2), three(3, 2, 2), four(3, 2, 2, 2), five(3, 2, 2, 2, 2), six(3, 2, 2, 2, 2, 2)
    integer(int32) :: seven(3, 2, 2, 2, 2, 2, 2), whole(192), scalar
    integer :: extent(7), i

    extent = [3, 2, 2, 2, 2, 2, 2]
    whole = [(i, i = 1, size(whole))]
    call fallsfs_open(file, in('ranks'), fallsfs_array(extent, 4), create=.true.)
    call fallsfs_write_section(file, whole)
    call fallsfs_read_section(file, seven)
    call expect(all(reshape(seven, [192]) == whole), 'rank 7')
    do i = 1, 6
      file%array = fallsfs_array(extent(:i), 4)
      select case (i)
      case (1)
        call fallsfs_read_section(file, one)
        call expect(all(one == whole(:3)), 'rank 1')
      case (2)
        call fallsfs_read_section(file, two)
        call expect(all(reshape(two, [6]) == whole(:6)), 'rank 2')
      case (3)
        call fallsfs_read_section(file, three)
        call expect(all(reshape(three, [12]) == whole(:12)), 'rank 3')
      case (4)
        call fallsfs_read_section(file, four)
        call expect(all(reshape(four, [24]) == whole(:24)), 'rank 4')
      case (5)
        call fallsfs_read_section(file, five)
        call expect(all(reshape(five, [48]) == whole(:48)), 'rank 5')
      case (6)
        call fallsfs_read_section(file, six)
        call expect(all(reshape(six, [96]) == whole(:96)), 'rank 6')
      end select
    end do
    file%array = fallsfs_array(extent, 4)
    call fallsfs_read_section(file, scalar, fallsfs_section([2, 1, 2, 1, 1, 2, 1], [2, 1, 2, 1, 1, 2, 1]))
    call expect(scalar == seven(2, 1, 2, 1, 1, 2, 1), 'a scalar')
    call fallsfs_close(file)
  end subroutine

  ! Against Fortran's own sections, in memory that is contiguous and in memory that is not.
  subroutine sections()
    type(fallsfs_file) :: file
    integer(int32) :: cube(7, 6, 5), now(7, 6, 5), frame(20, 20, 20)
    integer(int32), allocatable :: part(:, :, :)
    integer(int64) :: count(3)
    integer :: i, n, lower(3), upper(3), stride(3)
    real :: r(9)
    type(fallsfs_section) :: section
    integer, allocatable :: seed(:)

    call random_seed(size=n)
    seed = [(i, i = 1, n)]
    call random_seed(put=seed)
    cube = reshape([(i, i = 1, size(cube))], shape(cube))
    call fallsfs_open(file, in('sections'), fallsfs_array(shape(cube), 4, header=13), create=.true.)
    call fallsfs_write_section(file, cube)
    do n = 1, 200
      call random_number(r)
      lower = 1 + int(r(1:3) * shape(cube))
      upper = min(lower + int(r(4:6) * shape(cube)), shape(cube))
      stride = 1 + int(r(7:9) * 3)
      section = fallsfs_section(lower, upper, stride)
      count = fallsfs_section_count(section)
      allocate (part(count(1), count(2), count(3)))
      call fallsfs_read_section(file, part, section)
      call expect(all(part == cube(lower(1):upper(1):stride(1), lower(2):upper(2):stride(2), &
                                   lower(3):upper(3):stride(3))), 'a section is read')
      frame = -1
      call fallsfs_read_section(file, frame(2:2 * count(1):2, 1:count(2), 3:3 * count(3):3), section)
      call expect(all(frame(2:2 * count(1):2, 1:count(2), 3:3 * count(3):3) == part), 'into every second and third')
      call expect(count_of(frame, -1) == size(frame) - size(part), 'and nowhere else')
      part = -part
      cube(lower(1):upper(1):stride(1), lower(2):upper(2):stride(2), lower(3):upper(3):stride(3)) = part
      if (mod(n, 2) == 0) then
        call fallsfs_write_section(file, part, section)
      else
        frame(2:2 * count(1):2, 1:count(2), 3:3 * count(3):3) = part
        call fallsfs_write_section(file, frame(2:2 * count(1):2, 1:count(2), 3:3 * count(3):3), section)
      end if
      deallocate (part)
      call fallsfs_read_section(file, now)
      call expect(all(now == cube), 'a section is written')
    end do
    part = cube(:0, :, :)
    call fallsfs_read_section(file, part, fallsfs_section([5, 1, 1], [4, 6, 5]))
    call fallsfs_write_section(file, part, fallsfs_section([8_int64, 1_int64, 1_int64], [7_int64, 6_int64, 5_int64]))
    call fallsfs_close(file)
  end subroutine

  pure integer function count_of(frame, value)
    integer(int32), intent(in) :: frame(:, :, :), value

    count_of = count(frame == value)
  end function

  ! What a C program or numpy has said is seen the other way round.
  subroutine by_rows()
    type(fallsfs_file) :: file, again
    type(fallsfs_array) :: array
    integer(int16) :: matrix(3, 4)
    integer :: i

    call open_bytes(file, 'rows', 2)
    call fallsfs_close(file)
    call execute_command_line('setfattr -n user.falls.array -v "shape=4x3 type=<i2 header=8" ' // in('rows'))
    call fallsfs_open(file, in('rows'), write=.true.)
    call expect(all(file%array%shape == [3_int64, 4_int64]), 'the shape is turned round')
    call expect(file%array%elem == 2 .and. file%array%header == 8 .and. file%array%type == '<i2', 'the rest is as said')
    call fallsfs_write_section(file, reshape([(int(i, int16), i = 1, 12)], [3, 4]))
    call fallsfs_open(again, in('rows'), fallsfs_array([12], 2, 8))
    matrix = 0
    call fallsfs_read_section(again, matrix)
    call expect(all(matrix == reshape([(i, i = 1, 12)], [3, 4])), 'rows of the file are columns')
    call fallsfs_array_of(again, array)
    call expect(array%header == 8 .and. again%array%shape(1) == 12, 'what was named counts for who named it')
    call fallsfs_close(again)
    call fallsfs_close(file)
  end subroutine

  subroutine said_of_files()
    type(fallsfs_file) :: file
    type(fallsfs_array) :: array
    character(len=200) :: words
    integer :: ierr
    integer(int64) :: bytes

    call open_bytes(file, 'said', 10)
    call fallsfs_array_of(file, array, ierr, words)
    call expect(ierr == 61 .and. index(words, 'nobody has said') == 1, 'nobody has said')
    call fallsfs_set_array(file, fallsfs_array([5, 7, 2], 8, 4096, '>f8'))
    call fallsfs_file_size(file, bytes)
    call expect(bytes == 10, 'bytes of a file')
    call fallsfs_sync(file)
    call fallsfs_close(file)
    call fallsfs_open(file, in('said'))
    call expect(all(file%array%shape == [5, 7, 2]) .and. file%array%type == '>f8' .and. file%array%header == 4096, &
                'what was said is there')
    call fallsfs_close(file)
    call fallsfs_open(file, in('said') // '    ', fallsfs_array([10], 1), ierr=ierr)
    call expect(ierr == 0, 'blanks behind a name are none of it')
    call fallsfs_close(file)
    call fallsfs_open(file, in('said'), fallsfs_array([4, 0], 1), ierr=ierr, errmsg=words)
    call expect(ierr == 22 .and. index(words, 'at least one index') > 0, 'an array of nothing')
  end subroutine

  subroutine lists()
    type(fallsfs_file) :: file
    integer(int8) :: five(5), six(6)

    call open_bytes(file, 'lists', 100)
    call fallsfs_read_list(file, five, fallsfs_list([0, 3], [2, 1], extent=6, skip=2))
    call expect(all(five == [3, 6, 7, 9, 12]), 'pieces, repeated')
    call fallsfs_read_list(file, five, fallsfs_list([10_int64, 90_int64], [2_int64, 3_int64], disp=1_int64))
    call expect(all(five == [11, 12, 91, 92, 93]), 'pieces, once')
    call fallsfs_read_list(file, six, fallsfs_list('{(0,1,5,3)}', disp=50_int64))
    call expect(all(six == [50, 51, 55, 56, 60, 61]), 'FALLS')
    call fallsfs_write_list(file, -six, fallsfs_list('{(0,1,5,3)}', disp=50_int64))
    call fallsfs_read_list(file, six, fallsfs_list([50], [6]))
    call expect(all(six == [-50, -51, 52, 53, 54, -55]), 'written to FALLS')
    call expect(fallsfs_size_last() == 100, 'how long the file was')
    call fallsfs_close(file)
  end subroutine

  ! Two ranks of one process, each with an open file of its own, have to ask with tickets: neither may wait for the
  ! other.
  subroutine tickets()
    type(fallsfs_file) :: file(2)
    type(fallsfs_group) :: group(2)
    type(fallsfs_ticket) :: ticket(2)
    type(fallsfs_token) :: token, same
    type(fallsfs_hints) :: hints
    integer(int32), allocatable, target, asynchronous :: half(:, :), other(:, :)
    real(real64), pointer :: lent(:, :)
    type(c_ptr) :: memory
    integer :: i, ierr
    character(len=200) :: words
    logical :: done

    call fallsfs_new_token(token)
    call fallsfs_token_from(fallsfs_token_text(token), same)
    call expect(fallsfs_token_text(same) == fallsfs_token_text(token), 'a token as text and back')
    hints%timeout_ms = 20000
    hints%sieve = FALLSFS_SIEVE_ON
    do i = 1, 2
      call fallsfs_open(file(i), in('tickets'), fallsfs_array([64, 10], 4), create=.true.)
      call fallsfs_join(file(i), same, i - 1, 2, group(i), hints)
    end do
    half = spread([(i, i = 1, 32)], 2, 10)
    other = -half
    call fallsfs_iwrite_all(group(1), half, ticket(1), fallsfs_section([1, 1], [63, 10], [2, 1]))
    call fallsfs_test(ticket(1), done)
    call expect(.not. done, 'one rank has not asked yet')
    call fallsfs_iwrite_all(group(2), other, ticket(2), fallsfs_section([2, 1], [64, 10], [2, 1]))
    call fallsfs_wait(ticket(1))
    done = .false.
    do while (.not. done)
      call fallsfs_test(ticket(2), done)
    end do
    call fallsfs_wait(ticket(2), ierr, words)
    call expect(ierr /= 0 .and. index(words, 'over') > 0, 'a ticket is for once')
    half = 0
    other = 0
    call fallsfs_iread_all(group(2), other, ticket(2), fallsfs_section([33, 1], [64, 10]))
    call fallsfs_iread_all(group(1), half, ticket(1), fallsfs_section([1, 1], [32, 10]))
    call fallsfs_wait(ticket(1))
    call fallsfs_wait(ticket(2))
    call expect(all(half == spread([((/i, -i/), i = 1, 16)], 2, 10)), 'what both have written, the upper half')
    call expect(all(other == spread([((/i, -i/), i = 17, 32)], 2, 10)), 'what both have written, the lower half')
    call fallsfs_iread_all(group(1), half(::2, :), ticket(1), fallsfs_section([1, 1], [16, 10]), ierr, words)
    call expect(ierr /= 0 .and. index(words, 'contiguous') > 0, 'a request that goes on needs memory that stays')

    memory = fallsfs_alloc(80_c_size_t)
    call c_f_pointer(memory, lent, [2, 5])
    call fallsfs_iread_list_all(group(1), lent, ticket(1), fallsfs_list([0], [80]))
    call fallsfs_iwrite_list_all(group(2), half(:1, 1), ticket(2), fallsfs_list([0], [4]), ierr)
    call expect(ierr == 71, 'reading does not go with writing: who asks last is told at once')
    call fallsfs_wait(ticket(1), ierr, words)
    call expect(ierr /= 0 .and. index(words, 'asked for something else') > 0, 'and who waits is told')
    call fallsfs_free(memory)
    do i = 1, 2
      call fallsfs_leave(group(i), ierr)
      call fallsfs_leave(group(i), ierr)
      call expect(ierr /= 0, 'left is left')
      call fallsfs_close(file(i))
    end do
  end subroutine

  ! A group of one; the example is one of several processes.
  subroutine groups()
    type(fallsfs_file) :: file
    type(fallsfs_group) :: group
    type(fallsfs_group_stats) :: stats
    type(fallsfs_token) :: token
    type(fallsfs_array) :: array
    integer(int32) :: line(8), part(4)
    integer(int64) :: staged
    integer :: i, ierr

    call fallsfs_new_token(token)
    call fallsfs_open(file, in('groups'), fallsfs_array([8], 4), create=.true.)
    call fallsfs_join(file, token, 0, 1, group)
    call fallsfs_write_all(group, [(i, i = 1, 8)])
    call fallsfs_read_all(group, line)
    call expect(all(line == [(i, i = 1, 8)]), 'all of it')
    call fallsfs_read_all(group, part, fallsfs_section([2], [8], [2]))
    call expect(all(part == [2, 4, 6, 8]), 'every second')
    call fallsfs_write_list_all(group, part, fallsfs_list('{(0,15,16,1)}'))
    call fallsfs_read_list_all(group, line, fallsfs_list([0], [32]))
    call expect(all(line == [2, 4, 6, 8, 5, 6, 7, 8]), 'lists')
    call fallsfs_stats(group, stats, staged)
    call expect(stats%calls == 5 .and. stats%asked == 32 .and. stats%error == 0 .and. stats%by_itself == 0, &
                'what the last request did')
    call expect(staged == 32 .and. stats%ns_total > 0, 'and what it took')
    call expect(fallsfs_fd(file) >= 0 .and. c_associated(fallsfs_handle(group)), 'both for C')
    array = fallsfs_group_array(group)
    call expect(array%shape(1) == 8 .and. array%elem == 4, 'and its array')
    call fallsfs_leave(group)
    call fallsfs_stats(group, stats, ierr=ierr)
    call expect(ierr == 9, 'left is left')
    call fallsfs_close(file)
  end subroutine

  ! A whole array of any distribution in one call.
  subroutine elements()
    character(len=*), parameter :: cyclic = 'array(shape=5x6, elem=4, order=col, dist=(cyclic(2),block), grid=2x2)'
    type(fallsfs_file) :: file
    type(fallsfs_group) :: group
    type(fallsfs_token) :: token
    integer(int32) :: whole(5, 6), mine(2, 3), other(3, 3)
    character(len=12) :: letters(3)
    integer :: i, ierr
    character(len=200) :: words

    whole = reshape([(i, i = 1, 30)], [5, 6])
    call fallsfs_new_token(token)
    call fallsfs_open(file, in('elements'), fallsfs_array([5, 6], 4), create=.true.)
    call fallsfs_write_section(file, whole)
    call fallsfs_join(file, token, 0, 1, group)
    call expect(fallsfs_element_bytes(cyclic, 0) == 36, 'bytes of an element')
    call fallsfs_read_element_all(group, other, cyclic, 0)
    call expect(all(other == whole([1, 2, 5], 1:3)), 'rows in turn of a half')
    do i = 1, 3
      call fallsfs_read_element_all(group, mine, cyclic, i, ierr, words)
      if (ierr == 0) call expect(all(mine == whole(3:4, 1:3)), 'the others')
      if (ierr /= 0) call expect(words == 'the element has 36 bytes, the memory for it 24', 'other memory')
      if (ierr == 0) exit
    end do
    call fallsfs_read_element_all(group, letters, cyclic, 0)
    call expect(all(transfer(letters, other) == reshape(other, [9])), 'in memory of characters')
    call fallsfs_read_element_all(group, letters, 5, 0, ierr)
    call expect(ierr == 22, 'what is no layout')
    call fallsfs_write_element_all(group, -other, cyclic, 0)
    whole([1, 2, 5], 1:3) = -whole([1, 2, 5], 1:3)
    call expect_file(file, whole, 'an element is written')
    call fallsfs_read_element_all(group, mine, cyclic, 4, ierr, words)
    call expect(ierr /= 0 .and. len_trim(words) > 0, 'no such element')
    call fallsfs_leave(group)
    call fallsfs_close(file)
  end subroutine

  subroutine expect_file(file, whole, what)
    type(fallsfs_file), intent(in) :: file
    integer(int32), intent(in) :: whole(:, :)
    character(len=*), intent(in) :: what
    integer(int32) :: now(size(whole, 1), size(whole, 2))

    call fallsfs_read_section(file, now)
    call expect(all(now == whole), what)
  end subroutine

  ! Several requests of one file, all under way.
  subroutine without_waiting()
    type(fallsfs_file) :: file
    type(fallsfs_ticket) :: ticket(8)
    type(fallsfs_hints) :: hints
    integer(int32), allocatable, target, asynchronous :: columns(:, :)
    integer(int32) :: whole(6, 8)
    integer :: i, ierr

    whole = reshape([(i, i = 1, 48)], [6, 8])
    columns = whole
    call fallsfs_open(file, in('without waiting'), fallsfs_array([6, 8], 4), create=.true.)
    hints%sieve = FALLSFS_SIEVE_OFF
    call fallsfs_hint(file, hints)
    do i = 1, 8
      call fallsfs_iwrite_section(file, columns(:, i), ticket(i), fallsfs_section([1, i], [6, i]))
    end do
    do i = 8, 1, -1
      call fallsfs_wait(ticket(i))
    end do
    call expect_file(file, whole, 'written without waiting')
    call fallsfs_hint(file)
    columns = 0
    do i = 1, 8
      call fallsfs_iread_list(file, columns(:, i), ticket(i), fallsfs_list([(8 - i) * 24], [24]))
    end do
    do i = 1, 8
      call fallsfs_wait(ticket(i))
    end do
    call expect(all(columns == whole(:, 8:1:-1)), 'read without waiting')
    call fallsfs_iwrite_list(file, columns(:, 1), ticket(1), fallsfs_list('{(0,23,24,1)}'))
    call fallsfs_wait(ticket(1))
    call fallsfs_iread_section(file, columns(:, 2), ticket(1), fallsfs_section([1, 1], [6, 1]))
    call fallsfs_wait(ticket(1))
    call expect(all(columns(:, 2) == whole(:, 8)), 'and a set of FALLS')
    hints%sieve = 77
    call fallsfs_hint(file, hints, ierr)
    call expect(ierr == 22, 'no hint')
    call fallsfs_close(file)
  end subroutine

  subroutine views()
    type(fallsfs_file) :: file
    integer(int8) :: bytes(20), all_of_it(64)
    integer(int64) :: n

    call open_bytes(file, 'views', 60)
    call fallsfs_view(file, 'stripe(5,3) element 1')
    call fallsfs_file_size(file, n)
    call expect(n == 20, 'a view''s size')
    call fallsfs_read_at(file, 3_int64, bytes(:4), n)
    call expect(n == 4 .and. all(bytes(:4) == [8, 9, 20, 21]), 'bytes of a view')
    call fallsfs_write_at(file, 4_int64, [-1_int8, -2_int8])
    call fallsfs_view(file, 'one')
    call fallsfs_read_at(file, 0_int64, all_of_it, n)
    call expect(n == 60 .and. all_of_it(10) == -1 .and. all_of_it(21) == -2 .and. all_of_it(11) == 10, 'the file again')
    call fallsfs_close(file)
  end subroutine

  subroutine errors()
    type(fallsfs_file) :: file
    type(fallsfs_group) :: nobody
    type(fallsfs_token) :: token
    integer(int32) :: two(2, 2), three(3)
    character(len=5) :: letters
    integer :: ierr
    character(len=300) :: words

    call fallsfs_open(file, in('nowhere/at all'), ierr=ierr, errmsg=words)
    call expect(ierr == 2 .and. index(words, 'No such file') > 0, 'no such file')
    call fallsfs_open(file, in('nowhere/at all'), create=.true., ierr=ierr, errmsg=words)
    call expect(ierr == 2 .and. index(words, 'No such file') > 0, 'it cannot be made')
    call fallsfs_close(file, ierr)
    call expect(ierr == 9, 'it is not open')
    call fallsfs_open(file, in('errors'), create=.true.)
    call fallsfs_read_section(file, two, ierr=ierr, errmsg=words)
    call expect(ierr == 22 .and. index(words, 'nobody has said') == 1, 'no array')
    file%array = fallsfs_array([2, 2], 4)
    call fallsfs_read_section(file, three, ierr=ierr, errmsg=words)
    call expect(ierr == 22 .and. words == 'the section has 16 bytes, the memory for it 12', 'other memory')
    call fallsfs_read_section(file, letters, ierr=ierr, errmsg=words)
    call expect(ierr == 22 .and. words == 'the section has 16 bytes, the memory for it 5', 'memory of characters')
    call fallsfs_read_section(file, two, fallsfs_section([0, 1], [1, 2]), ierr, words)
    call expect(ierr == 22 .and. index(words, 'bounds count from 1') > 0, 'bounds count from 1')
    call fallsfs_read_section(file, two, fallsfs_section([1, 1], [3, 2]), ierr, words)
    call expect(ierr == 22 .and. index(words, 'up to the size') > 0, 'up to the size')
    call fallsfs_read_section(file, two, fallsfs_section([1], [2]), ierr, words)
    call expect(ierr == 22 .and. index(words, 'dimensions') > 0, 'other dimensions')
    call fallsfs_read_section(file, two, fallsfs_section([1, 1], [2, 2], [1, 0]), ierr, words)
    call expect(ierr == 22 .and. words == 'strides are at least 1', 'no stride')
    call fallsfs_read_section(file, two, fallsfs_section([1, 1], [2, 2], [1]), ierr, words)
    call expect(ierr == 22 .and. index(words, 'strides') > 0, 'a stride is missing')
    call fallsfs_read_list(file, three, fallsfs_list('{(0,1,2'), ierr, words)
    call expect(ierr == 22 .and. index(words, 'column') == 1, 'no FALLS')
    call fallsfs_read_list(file, three, fallsfs_list([0, 1], [2, 2], extent=3), ierr, words)
    call expect(ierr == 22 .and. index(words, 'the list is none') == 1, 'pieces overlap')
    call fallsfs_read_list(file, three, fallsfs_list([0, 10], [2]), ierr, words)
    call expect(ierr == 22, 'a length is missing')
    call fallsfs_view(file, 'stripe(0)', ierr, words)
    call expect(ierr == 22 .and. len_trim(words) > 0, 'no view')
    call fallsfs_token_from('abc', token, ierr)
    call expect(ierr == 22, 'no token')
    call fallsfs_read_all(nobody, two, ierr=ierr)
    call expect(ierr == 9, 'no group')
    call fallsfs_join(file, token, 3, 2, nobody, ierr=ierr, errmsg=words)
    call expect(ierr == 22 .and. index(words, 'rank 3 of 2') == 1, 'no such rank')
    call fallsfs_close(file)
    call fallsfs_open(file, in('errors'), fallsfs_array([2, 2], 4))
    call fallsfs_write_section(file, two, ierr=ierr)
    call expect(ierr == 9, 'opened to be read')
    call fallsfs_close(file)
  end subroutine
end program

! SPDX-License-Identifier: MIT
! PASSION's calls, as a program uses them that was built with what is installed: passion DIRECTORY.
program passion_checks
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  use fallsfs
  use passion
  use expecting
  implicit none
  character(len=1000) :: directory

  call get_command_argument(1, directory)
  call sections()
  call whole_parts()
  call headers()
  call without_waiting()
  call reused()
  call by_rows()
  call far_away()
  call globally_alone()
  call refusals()
  if (n_missed > 0) stop 1
  print '(a)', 'all is right'

contains

  function in(name) result(path)
    character(len=*), intent(in) :: name
    character(len=:), allocatable :: path

    path = trim(directory) // '/' // name
  end function

  ! Random sections of all parts of an array whose rows are dealt two at a time, beside vector subscripts.
  subroutine sections()
    integer, parameter :: ROWS(9) = [1, 2, 5, 6, 9, 3, 4, 7, 8], FIRST_ROW(2) = [1, 6], N_ROWS(2) = [5, 4]
    type(OCAD) :: dealt
    type(PFILE) :: file(0:3)
    integer(int32) :: whole(9, 8, 7)
    integer(int32), allocatable :: memory(:, :, :), expected(:, :, :)
    integer(int64), allocatable :: part(:), size_of(:)
    integer :: access(3, 3), at(3), n(3), round, p, i, r1, r2, c
    real :: r(13)

    call PASSION_malloc_OCAD(dealt, 3)
    call PASSION_fill_OCAD(dealt, [9, 8, 7], reshape([PASSION_CYCLIC, 2, PASSION_BLOCK, 0, PASSION_NONE, 0], [2, 3]), &
                           [2, 2, 1], overlap=reshape([1, 0, 0, 2, 0, 0], [2, 3]), elemsize=4)
    do p = 0, 3
      call PASSION_open(file(p), in('dealt:' // achar(iachar('0') + p)), 12)
    end do
    whole = 0
    do round = 1, 400
      call random_number(r)
      p = int(r(1) * 4)
      call fallsfs_passion_sizes(file(p), dealt, part, size_of)
      call expect(all(part == [N_ROWS(p / 2 + 1), 4, 7]), 'sizes of a part')
      call expect(all(size_of == part + [1, 2, 0]), 'and of memory, with overlaps')
      access(1, :) = 1 + int(r(2:4) * int(part))
      access(2, :) = min(access(1, :) + int(r(5:7) * int(part)), int(part))
      access(3, :) = 1 + int(r(8:10) * 3)
      n = (access(2, :) - access(1, :)) / access(3, :) + 1
      at = 1 + int(r(11:13) * int(size_of - n + 1))
      allocate (memory(size_of(1), size_of(2), size_of(3)))
      memory = -7
      r1 = FIRST_ROW(p / 2 + 1) + access(1, 1) - 1
      r2 = FIRST_ROW(p / 2 + 1) + access(2, 1) - 1
      c = mod(p, 2) * 4
      associate (a => access)
        if (mod(round, 4) == 0) then
          if (mod(round, 8) == 0) then
            call PASSION_read_section(file(p), dealt, memory, int(at, int64), int(access, int64))
          else
            call PASSION_read_section(file(p), dealt, memory, at, access)
          end if
          expected = whole(ROWS(r1:r2:a(3, 1)), c + a(1, 2):c + a(2, 2):a(3, 2), a(1, 3):a(2, 3):a(3, 3))
          call expect(all(memory(at(1):at(1) + n(1) - 1, at(2):at(2) + n(2) - 1, at(3):at(3) + n(3) - 1) == expected), &
                      'a section is read')
          call expect(count(memory == -7) == size(memory) - product(n), 'to its place')
        else
          memory = reshape([(round * 1000 + i, i = 1, size(memory))], shape(memory))
          if (mod(round, 4) == 1) then
            call PASSION_write_section(file(p), dealt, memory, int(at, int64), int(access, int64))
          else
            call PASSION_write_section(file(p), dealt, memory, at, access)
          end if
          whole(ROWS(r1:r2:a(3, 1)), c + a(1, 2):c + a(2, 2):a(3, 2), a(1, 3):a(2, 3):a(3, 3)) = &
            memory(at(1):at(1) + n(1) - 1, at(2):at(2) + n(2) - 1, at(3):at(3) + n(3) - 1)
        end if
      end associate
      deallocate (memory)
    end do
    do p = 0, 3
      call PASSION_close(file(p))
    end do
    call PASSION_free_OCAD(dealt)
  end subroutine

  ! Two halves of the columns of a matrix.
  subroutine make_halves(halves, file, name, elem)
    type(OCAD), intent(out) :: halves
    type(PFILE), intent(out) :: file(0:1)
    character(len=*), intent(in) :: name
    integer, intent(in) :: elem
    integer :: p

    call PASSION_malloc_OCAD(halves, 2)
    call PASSION_fill_OCAD(halves, [6, 9], reshape([PASSION_NONE, 0, PASSION_BLOCK, 0], [2, 2]), [1, 2], elemsize=elem)
    do p = 0, 1
      call PASSION_open(file(p), in(name // ':' // achar(iachar('0') + p)))
    end do
  end subroutine

  subroutine whole_parts()
    type(OCAD) :: halves
    type(PFILE) :: file(0:1)
    complex(real32) :: whole(6, 9), now(6, 5)
    character(len=:), allocatable :: text
    integer :: i

    whole = reshape([(cmplx(i, -i), i = 1, size(whole))], shape(whole))
    call make_halves(halves, file, 'halves', 8)
    call PASSION_write(file(0), halves, whole(:, :5))
    call PASSION_write(file(1), halves, whole(:, 6:))
    call PASSION_read(file(0), halves, now)
    call expect(all(now == whole(:, :5)), 'all of one part')
    call PASSION_read(file(1), halves, now)
    call expect(all(now(:, :4) == whole(:, 6:)), 'all of the other')
    call fallsfs_passion_layout(halves, 100_int64, text)
    call expect(text == 'array(shape=6x9, elem=8, order=col, dist=(*,block), grid=1x2) disp 100', 'as a layout')
    call PASSION_close(file(0))
    call PASSION_close(file(1))
    call PASSION_free_OCAD(halves)
  end subroutine

  subroutine headers()
    type(PFILE) :: file
    character(len=20) :: written, found
    character(len=5) :: short

    written = 'twenty characters'
    call PASSION_open(file, in('header'), 20_int64)
    call PASSION_write_header(file, written)
    call PASSION_read_header(file, found)
    call expect(found == written, 'a header')
    call PASSION_read_header(file, short, expect_ierr, expect_words)
    call expect(expect_ierr == 22 .and. expect_words == 'the header has 20 bytes, the memory for it 5', 'less memory')
    call PASSION_close(file)
  end subroutine

  subroutine without_waiting()
    type(OCAD) :: halves
    type(PFILE) :: file(0:1)
    type(PREFETCH) :: ahead(2)
    integer(int32), allocatable, target, asynchronous :: left(:, :), right(:, :), large(:, :)
    integer(int32) :: whole(6, 9)
    integer :: i

    whole = reshape([(i, i = 1, size(whole))], shape(whole))
    call make_halves(halves, file, 'ahead', 4)
    call PASSION_write(file(0), halves, whole(:, :5))
    call PASSION_write(file(1), halves, whole(:, 6:))
    allocate (left(6, 5), right(6, 4), large(12, 5))
    left = 0
    right = 0
    call PASSION_read_prefetch(ahead(1), file(0), halves, left, AccessArray=reshape([1, 6, 1, 1, 5, 2], [3, 2]))
    call PASSION_prefetch_read(ahead(2), file(1), halves, right, [2_int64, 1_int64], &
                               reshape([2_int64, 6_int64, 2_int64, 1_int64, 4_int64, 1_int64], [3, 2]))
    call PASSION_prefetch_wait(ahead(2))
    call PASSION_prefetch_wait(ahead(1))
    call expect(all(left(:, :3) == whole(:, 1:5:2)) .and. all(left(:, 4:) == 0), 'columns that were read ahead')
    call expect(all(right(2:4, :) == whole(2:6:2, 6:)) .and. all(right([1, 5, 6], :) == 0), 'to a place')
    call PASSION_prefetch_wait(ahead(1), expect_ierr)
    call expect(expect_ierr == 9, 'it is waited for once')
    call PASSION_read_prefetch(ahead(1), file(0), halves, large(::2, :), &
                               AccessArray=reshape([1, 6, 1, 1, 5, 1], [3, 2]), ierr=expect_ierr, errmsg=expect_words)
    call expect(expect_ierr == 22 .and. index(expect_words, 'contiguous') > 0, 'memory that stays')
    call PASSION_close(file(0))
    call PASSION_close(file(1))
    call PASSION_free_OCAD(halves)
  end subroutine

  ! Five columns at a time, with one before and two behind them.
  subroutine reused()
    type(OCAD) :: columns
    type(PFILE) :: file
    type(REUSE) :: walk
    real(real64) :: whole(4, 33), memory(4, 8), seen(4, 33)
    integer :: first, last, n

    call random_number(whole)
    call PASSION_malloc_OCAD(columns, 2)
    call PASSION_fill_OCAD(columns, [4, 33], icla_size=reshape([0, 0, 5, 0], [2, 2]), &
                           overlap=reshape([0, 0, 1, 2], [2, 2]), elemsize=8)
    call PASSION_open(file, in('reused'))
    call PASSION_write(file, columns, whole)
    call PASSION_reuse_init(walk, file, columns, 4)
    first = 4
    seen = 0
    do
      memory = -1
      call PASSION_read_reuse(walk, memory, n)
      if (n < 0) exit
      last = min(first + n + 1, 33)
      call expect(all(memory(:, 1:last - first + 2) == whole(:, first - 1:last)), 'columns and their overlap')
      call expect(all(memory(:, last - first + 3:) == -1), 'beyond the end there is none')
      seen(:, first:first + n - 1) = memory(:, 2:n + 1)
      first = first + n
    end do
    call expect(first == 34 .and. all(seen(:, 4:) == whole(:, 4:)), 'all columns')
    call PASSION_reuse_init(walk, file, columns, 34_int64)
    call PASSION_read_reuse(walk, memory, n, expect_ierr)
    call expect(n == -1 .and. expect_ierr == 0, 'none behind the last one')
    call PASSION_reuse_init(walk, file, columns, 1)
    call PASSION_read_reuse(walk, memory(:, :7), n, expect_ierr, expect_words)
    call expect(n == -1 .and. expect_ierr == 22 .and. index(expect_words, 'has 256 bytes') > 0, 'less memory')
    call PASSION_reuse_init(walk, file, columns, 0, expect_ierr)
    call expect(expect_ierr == 22, 'indices count from 1')
    call PASSION_read_reuse(walk, memory, n, expect_ierr)
    call expect(n == -1 .and. expect_ierr == 9, 'no walk')
    call PASSION_close(file)
    call PASSION_free_OCAD(columns)
  end subroutine

  ! What lies row by row has its dimensions the other way round in memory.
  subroutine by_rows()
    type(OCAD) :: matrix
    type(PFILE) :: file
    integer(int16) :: rows(4, 3), now(4, 3)
    integer :: i

    rows = reshape([(int(i, int16), i = 1, 12)], [4, 3])
    call PASSION_malloc_OCAD(matrix, 2)
    call PASSION_fill_OCAD(matrix, [3, 4], elemsize=2, storage=ROW_MAJOR)
    call PASSION_open(file, in('rows'))
    call PASSION_write(file, matrix, rows)
    now = 0
    call PASSION_read_section(file, matrix, now, AccessArray=reshape([2, 3, 1, 1, 4, 2], [3, 2]))
    call expect(all(now(:2, 1) == [5, 7]) .and. all(now(:2, 2) == [9, 11]), 'rows of the file are columns')
    call PASSION_close(file)
    call PASSION_free_OCAD(matrix)
  end subroutine

  subroutine far_away()
    integer(int64), parameter :: FAR = 2_int64**33
    type(OCAD) :: large
    type(PFILE) :: file
    integer(int8) :: some(2, 2), back(2, 2)

    some = reshape([1_int8, 2_int8, 3_int8, 4_int8], [2, 2])
    call PASSION_malloc_OCAD(large, 2)
    call PASSION_fill_OCAD(large, [FAR, 3_int64], icla_size=reshape([2_int64, 0_int64, 2_int64, 0_int64], [2, 2]), &
                           elemsize=1_int64)
    call PASSION_open(file, in('large'))
    call PASSION_write_section(file, large, some, &
                               AccessArray=reshape([FAR - 2, FAR, 2_int64, 2_int64, 3_int64, 1_int64], [3, 2]))
    call PASSION_read_section(file, large, back, &
                              AccessArray=reshape([FAR - 2, FAR, 2_int64, 2_int64, 3_int64, 1_int64], [3, 2]))
    call expect(all(back == some), 'far away')
    call PASSION_close(file)
    call PASSION_free_OCAD(large)
  end subroutine

  ! Of one process; the program of several is together.f90.
  subroutine globally_alone()
    type(OCAD) :: matrix
    type(PFILE) :: file
    real(real32) :: whole(5, 8), part(2, 8)

    call random_number(whole)
    call PASSION_malloc_OCAD(matrix, 2)
    call PASSION_fill_OCAD(matrix, [5, 8], elemsize=4)
    call PASSION_open(file, in('global'))
    call PASSION_global_write(file, matrix, whole, AccessArray=reshape([1, 5, 1, 1, 8, 1], [3, 2]), nprocs=1)
    call PASSION_global_read(file, matrix, part, AccessArray=reshape([2_int64, 4_int64, 2_int64, 1_int64, 8_int64, &
                                                                      1_int64], [3, 2]), nprocs=1)
    call expect(all(part == whole(2:4:2, :)), 'the global array')
    call PASSION_global_read(file, matrix, part, AccessArray=reshape([1, 5, 1, 1, 8, 1], [3, 2]), nprocs=1, &
                             ierr=expect_ierr, errmsg=expect_words)
    call expect(expect_ierr == 22 .and. expect_words == 'the section has 160 bytes, the memory for it 64', 'no room')
    call PASSION_global_read(file, matrix, part, AccessArray=reshape([1, 5], [1, 2]), nprocs=1, ierr=expect_ierr)
    call expect(expect_ierr == 22, 'what is no access array')
    call PASSION_global_read(file, matrix, part, AccessArray=reshape([1, 2, 1, 1, 8, 1], [3, 2]), nprocs=2, &
                             ierr=expect_ierr, errmsg=expect_words)
    call expect(expect_ierr == 22 .and. index(expect_words, 'none of the first 2') > 0, 'too many processes')
    call PASSION_close(file)
    call PASSION_free_OCAD(matrix)
  end subroutine

  subroutine refusals()
    type(OCAD) :: matrix, nothing
    type(PFILE) :: file, closed
    type(fallsfs_token) :: token
    integer(int64), allocatable :: part(:), memory(:)
    integer(int32) :: whole(5, 8)
    character(len=:), allocatable :: text

    whole = 1
    call fallsfs_new_token(token)
    call fallsfs_passion_init(0, 1, token)
    call fallsfs_passion_init(0, 1)
    call fallsfs_passion_init(3, 2, token, expect_ierr)
    call expect(expect_ierr == 22, 'no such process')
    call fallsfs_passion_init(1, 2, ierr=expect_ierr, errmsg=expect_words)
    call expect(expect_ierr == 22 .and. index(expect_words, 'token') > 0, 'no token')
    call PASSION_malloc_OCAD(matrix, 17, expect_ierr, expect_words)
    call expect(expect_ierr == 22 .and. index(expect_words, 'not 17') > 0, 'too many dimensions')
    call PASSION_fill_OCAD(nothing, [1], elemsize=1, ierr=expect_ierr)
    call expect(expect_ierr == 22, 'no OCAD')
    call PASSION_malloc_OCAD(matrix, 2)
    call PASSION_open(file, in('refused'))
    call PASSION_read(file, matrix, whole, expect_ierr, expect_words)
    call expect(expect_ierr == 22 .and. index(expect_words, 'says nothing yet') > 0, 'an OCAD that says nothing')
    call PASSION_fill_OCAD(matrix, [5], elemsize=4, ierr=expect_ierr, errmsg=expect_words)
    call expect(expect_ierr == 22 .and. index(expect_words, '2 dimensions') > 0, 'a size is missing')
    call PASSION_fill_OCAD(matrix, [5, 8], icla_size=reshape([1, 2, 3, 4], [4, 1]), elemsize=4, ierr=expect_ierr)
    call expect(expect_ierr == 22, 'another shape')
    call PASSION_fill_OCAD(matrix, [5, 8], nprocs=[2, 1], elemsize=4, ierr=expect_ierr, errmsg=expect_words)
    call expect(expect_ierr == 22 .and. index(expect_words, 'has 1 process, not 2') > 0, 'what libfallsfs refuses')
    call PASSION_fill_OCAD(matrix, [5, 8], elemsize=4)
    call PASSION_read(file, matrix, whole(:, :7), expect_ierr, expect_words)
    call expect(expect_ierr == 22 .and. expect_words == 'the local array has 160 bytes, the memory for it 140', &
                'no room for a part')
    call PASSION_write_section(file, matrix, whole(:4, :), AccessArray=reshape([1, 1, 1, 1, 1, 1], [3, 2]), &
                               ierr=expect_ierr, errmsg=expect_words)
    call expect(expect_ierr == 22 .and. index(expect_words, 'in memory has 160 bytes') > 0, 'no room for a section')
    call PASSION_read_section(file, matrix, whole, [1], reshape([1, 1, 1, 1, 1, 1], [3, 2]), expect_ierr)
    call expect(expect_ierr == 22, 'an index is missing')
    call PASSION_read_section(file, matrix, whole, [0, 1], reshape([1, 1, 1, 1, 1, 1], [3, 2]), expect_ierr)
    call expect(expect_ierr == 34, 'indices count from 1')
    call PASSION_read_section(file, matrix, whole, AccessArray=reshape([1, 6, 1, 1, 1, 1], [3, 2]), ierr=expect_ierr)
    call expect(expect_ierr == 34, 'beyond the array')
    call PASSION_read_section(file, matrix, whole, AccessArray=reshape([1, 5, 0, 1, 1, 1], [3, 2]), ierr=expect_ierr)
    call expect(expect_ierr == 22, 'no stride')
    call PASSION_read(closed, matrix, whole, expect_ierr)
    call expect(expect_ierr == 9, 'no file')
    call PASSION_close(closed, expect_ierr)
    call expect(expect_ierr == 9, 'nothing to close')
    call fallsfs_passion_sizes(file, nothing, part, memory, expect_ierr)
    call expect(expect_ierr == 22 .and. .not. allocated(part), 'sizes of nothing')
    call fallsfs_passion_layout(nothing, 0_int64, text, expect_ierr)
    call expect(expect_ierr == 22 .and. .not. allocated(text), 'a layout of nothing')
    call fallsfs_passion_to_global(file, closed, matrix, expect_ierr)
    call expect(expect_ierr == 9, 'from one placement to none')
    call PASSION_close(file)
    call PASSION_free_OCAD(matrix)
    call PASSION_free_OCAD(matrix)
    call PASSION_open(file, in('nowhere/at all'), ierr=expect_ierr, errmsg=expect_words)
    call expect(expect_ierr == 2 .and. index(expect_words, 'No such file') > 0, 'no such directory')
  end subroutine
end program

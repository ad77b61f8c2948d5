! SPDX-License-Identifier: MIT
! What the programs beside it expect.
module expecting
  implicit none
  integer :: n_missed = 0, expect_ierr ! of calls that are refused
  character(len=300) :: expect_words = ''
contains
  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what

    if (holds) return
    print '(2a)', 'missed: ', what
    n_missed = n_missed + 1
  end subroutine
end module

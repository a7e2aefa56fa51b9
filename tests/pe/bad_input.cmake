# tests/pe/bad_input.cmake: the cases of r150_bad_input.c and the line that each must print after "isthmus: PE n: ".
# A row: case, routine, what follows its name. Only regular expressions; "." stands for ";", which CMake would cut at.
set(outside "called outside shmem_init and shmem_finalize")
set(not_symmetric "is 0x[0-9a-f]+, which is not symmetric. valid: the symmetric heap 0x")
set(called "called from r150_bad_input.*")
set(null "is NULL. valid: the address of")
set(misaligned "is 0x[0-9a-f]+, which is misaligned. valid: a multiple of")
set(past "bytes from there pass the end of")
set(no_block
  "ptr is 0x[0-9a-f]+, which is not the start of a live block. valid: what shmem_malloc has returned, between 0x")
set(BAD_INPUT
  pe_negative            shmem_long_p                  "pe is -1. valid: 0 to 2. ${called}"
  pe_n                   shmem_long_g                  "pe is 3. valid: 0 to 2. ${called}"
  pe_huge                shmem_putmem                  "pe is 2147483647. valid: 0 to 2. ${called}"
  pe_atomic              shmem_int_atomic_fetch_add    "pe is 3. valid: 0 to 2. ${called}"
  pe_atomic_nbi          shmem_long_atomic_fetch_inc_nbi "pe is -2. valid: 0 to 2. ${called}"
  pe_get_nbi             shmem_long_get_nbi            "pe is 3. valid: 0 to 2. ${called}"
  pe_iput                shmem_long_iput               "pe is 3. valid: 0 to 2. ${called}"
  pe_put_signal          shmem_long_put_signal         "pe is 3. valid: 0 to 2. ${called}"
  pe_signal_set          shmem_signal_set              "pe is 3. valid: 0 to 2. ${called}"
  pe_zero_count          shmem_putmem                  "pe is 3. valid: 0 to 2. ${called}"
  pe_quiet               shmem_pe_quiet                "an entry of target_pes is 3. valid: 0 to 2. ${called}"
  pe_of_team_context     shmem_ctx_long_p              "pe is 3. valid: 0 to [02]. ${called}"

  dest_on_stack          shmem_long_p                  "dest ${not_symmetric}"
  dest_from_malloc       shmem_long_put                "dest ${not_symmetric}"
  dest_null              shmem_long_put                "dest ${null} symmetric memory. ${called}"
  source_on_stack        shmem_long_g                  "source ${not_symmetric}"
  source_null            shmem_putmem                  "source ${null} a buffer. ${called}"
  get_dest_null          shmem_getmem                  "dest ${null} a buffer. ${called}"
  get_source_null        shmem_getmem                  "source ${null} symmetric memory. ${called}"
  atomic_on_stack        shmem_long_atomic_inc         "dest ${not_symmetric}"
  fetch_null             shmem_long_atomic_fetch_nbi   "fetch ${null} a buffer. ${called}"
  signal_on_stack        shmem_putmem_signal           "sig_addr ${not_symmetric}"
  ivar_on_stack          shmem_long_wait_until         "ivar ${not_symmetric}"
  ivars_null             shmem_long_wait_until_all     "ivars ${null} symmetric memory. ${called}"
  indices_null           shmem_long_test_some          "indices ${null} a buffer. ${called}"
  cmp_values_null        shmem_long_test_all_vector    "cmp_values ${null} a buffer. ${called}"

  past_heap              shmem_putmem                  "dest is 0x[0-9a-f]+. 1099511627776 ${past} \
the symmetric heap at 0x[0-9a-f]+. at most [0-9]+ bytes are valid. ${called}"
  past_static            shmem_getmem                  "source is 0x[0-9a-f]+. 1099511627776 ${past} static data at 0x"
  past_strided           shmem_long_iput               "dest is 0x[0-9a-f]+. [0-9]+ ${past} the symmetric heap"
  misaligned_p           shmem_long_p                  "dest ${misaligned} 8 bytes. ${called}"
  misaligned_atomic      shmem_int_atomic_inc          "dest ${misaligned} 4 bytes. ${called}"
  misaligned_signal      shmem_signal_add              "(sig_addr|dest) ${misaligned} 8 bytes. ${called}"
  misaligned_ivar        shmem_long_test               "ivar ${misaligned} 8 bytes. ${called}"

  nelems_negative        shmem_long_put                "nelems is 18446744073709551615 \
.-1 as a signed number.. valid: 0 to "
  nelems_huge            shmem_long_get                "nelems is 2305843009213693951 .*valid: 0 to "
  bytes_negative         shmem_getmem                  "nelems is 18446744073709551608 \
.-8 as a signed number.. valid: 0 to "
  stride_zero            shmem_long_iput               "dst is 0. valid: at least 1. ${called}"
  stride_negative        shmem_long_iget               "sst is -1. valid: at least 1. ${called}"
  alltoalls_stride_huge  shmem_long_alltoalls          "dst is 4611686018427387904 and nelems is 2 for each of 3 PEs, \
which exceeds the address space. ${called}"
  alltoalls_past_heap    shmem_long_alltoalls          "source is 0x[0-9a-f]+. 400000008 ${past} "
  stride_less_than_block shmem_long_ibput              "sst is 1. valid: at least 2. ${called}"
  context_invalid        shmem_ctx_long_p              "ctx is SHMEM_CTX_INVALID. valid: SHMEM_CTX_DEFAULT or \
a context that was created. ${called}"
  context_invalid_atomic shmem_ctx_long_atomic_fetch   "ctx is SHMEM_CTX_INVALID. valid: "
  destroy_default        shmem_ctx_destroy             "ctx is SHMEM_CTX_DEFAULT, \
which lives until shmem_finalize. valid: "
  cmp_wait               shmem_long_wait_until         "cmp is 6. valid: \
SHMEM_CMP_EQ .0. to SHMEM_CMP_LE .5.. ${called}"
  cmp_test               shmem_int_test                "cmp is -1. valid: SHMEM_CMP_EQ"
  cmp_any                shmem_long_wait_until_any     "cmp is 99. valid: SHMEM_CMP_EQ"
  cmp_signal             shmem_signal_wait_until       "cmp is 7. valid: SHMEM_CMP_EQ"
  sig_op                 shmem_putmem_signal           "sig_op is 7. valid: \
SHMEM_SIGNAL_SET .0. and SHMEM_SIGNAL_ADD .1.. ${called}"
  sig_op_nbi             shmem_putmem_signal_nbi       "sig_op is -1. valid: SHMEM_SIGNAL_SET"
  team_invalid           shmem_team_remote_commit      "team is SHMEM_TEAM_INVALID. valid: "

  lock_twice             shmem_set_lock                "this PE holds or awaits the lock already. valid: "
  lock_twice_threads     shmem_set_lock                "this PE holds or awaits the lock already. valid: "
  clear_free             shmem_clear_lock              "this PE does not hold the lock. valid: "
  clear_free_threads     shmem_clear_lock              "this PE does not hold the lock. valid: "
  clear_held_threads     shmem_clear_lock              "this PE does not hold the lock. valid: "
  free_inside            shmem_free                    "${no_block}"
  free_stack             shmem_free                    "${no_block}"
  free_static            shmem_free                    "${no_block}"
  free_malloc            shmem_free                    "${no_block}"
  free_twice             shmem_free                    "${no_block}"
  realloc_inside         shmem_realloc                 "${no_block}"
)
set(OUTSIDE
  my_pe          shmem_my_pe
  p              shmem_long_p
  g              shmem_long_g
  put            shmem_long_put
  atomic         shmem_long_atomic_inc
  fence          shmem_fence
  quiet          shmem_quiet
  barrier        shmem_barrier_all
  wait           shmem_long_wait_until
  signal_fetch   shmem_signal_fetch
  malloc         shmem_malloc
  free           shmem_free
  ptr            shmem_ptr
  team           shmem_team_n_pes
  context        shmem_.*ctx.*
  local_complete shmem_local_complete
  visibility     shmemx_visibility
)

# One line of the library, nothing hangs, and the job has a non-zero status. mpirun takes a second to end a job.
set(BAD_INPUT_BY_MPIRUN pe_n dest_on_stack free_twice before_my_pe after_p)

# The second time through the library's own routines, and to no alias: a few cases always, the others with the label
# thorough.
if(NOT ISTHMUS_SANITIZE)
  isthmus_pe_program(r150_bad_input_no_inline SOURCES r150_bad_input.c COMPILE -DISTHMUS_NO_INLINE)
endif()
set(BAD_INPUT_ALSO_NO_ALIAS pe_n dest_on_stack past_heap misaligned_p bytes_negative)

function(isthmus_bad_input name line)
  set(launchers run)
  if(name IN_LIST BAD_INPUT_BY_MPIRUN)
    list(APPEND launchers mpirun)
  endif()
  isthmus_pe_test(r150_bad_input VARIANT ${name} ARGS ${name} 3 NP 3 LAUNCHERS ${launchers}
    EXPECT -s nonzero -t 60 -1 "^isthmus: ${line}" -1 "^isthmus: ")
  if(ISTHMUS_SANITIZE)
    return()
  endif()
  set(labels thorough)
  if(name IN_LIST BAD_INPUT_ALSO_NO_ALIAS)
    set(labels "")
  endif()
  isthmus_pe_test(r150_bad_input PROGRAM r150_bad_input_no_inline VARIANT ${name}_no_alias ARGS ${name} 3
    ENV ISTHMUS_ALIAS=0 NP 3 LAUNCHERS run LABELS ${labels}
    EXPECT -s nonzero -t 60 -1 "^isthmus: ${line}" -1 "^isthmus: ")
endfunction()

while(BAD_INPUT)
  list(POP_FRONT BAD_INPUT name routine rest)
  isthmus_bad_input(${name} "PE 2: ${routine}: ${rest}")
endwhile()
isthmus_bad_input(same_mistake "PE [0-2]: shmem_long_g: pe is 3. valid: 0 to 2. called from r150_bad_input.*")
while(OUTSIDE)
  list(POP_FRONT OUTSIDE name routine)
  isthmus_bad_input(before_${name} "${routine}: ${outside}")
  isthmus_bad_input(after_${name} "(PE 2: )?${routine}: ${outside}")
endwhile()

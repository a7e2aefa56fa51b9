# Every access to another PE through UCX, although the PEs run on one host: over a network, and over the shared memory
# of UCX.
if(NOT TARGET plugin_ib)
  return()
endif()
# The first list always; the second, more of the same, for changes to the transport: ctest -L thorough.
set(IB_ALWAYS r1_pe_numbers r9_finalize_completes r22_target_computes r45_allocation_is_barrier r60_fence_and_quiet
    r68_quiet r79_remote_commit r82_commit_of_threads r92_one_home r108_shared_context r143_put_signal)
set(IB_THOROUGH r3_init_makes_reachable r11_inner_finalize r23_initiator_computes r24_wait_makes_progress
    r26_symmetric_addresses r30_static_data r32_two_segments r35_read_only_sources r43_malloc_model r47_growth
    r54_buffer_register r58_many_buffers r58_symmetric_buffer r60_flags_by_put r61_source_reuse r62_get_done
    r63_nonblocking r64_fence_same_target r66_fence_then_get r70_pe_quiet r71_barrier_is_quiet r75_fetches_in_order
    r78_local_complete r81_quiet_is_both_halves r86_amo_types r88_exclusion_of_types r91_one_domain
    r93_neighbouring_words r95_target_without_calls r96_amo_order r97_many_outstanding r98_visible_to_all
    r100_barrier_makes_visible r103_contexts_many r104_contexts_independent r107_destroy_is_quiet r119_team_init
    r138_writers r139_wait_sets r144_signal_sums r146_lock r151_strides)
foreach(program ${IB_ALWAYS} ${IB_THOROUGH})
  if(NOT TARGET pe_${program} AND ISTHMUS_SANITIZE)
    continue() # too slow for a sanitizer
  endif()
  set(labels "")
  set(np 2)
  set(part ISTHMUS_TEST_PART=4) # each round of the program takes trips through the network stack
  if(program IN_LIST IB_THOROUGH)
    set(labels thorough)
    set(np ${NO_ALIAS_NP})
    set(part "")
  endif()
  isthmus_pe_test(${program} VARIANT ib NP ${np} LAUNCHERS run TIMEOUT 300
    ENV ISTHMUS_TRANSPORTS=ib ISTHMUS_IB_WORKERS=4 ${part} LABELS ${labels})
endforeach()
isthmus_pe_test(r47_calls_after_growth VARIANT ib LABELS no_sanitizer NP 2 LAUNCHERS run ENV ISTHMUS_TRANSPORTS=ib)
isthmus_pe_test(r47_calls_after_growth VARIANT ib_hook LABELS no_sanitizer NP 2 LAUNCHERS run
  ENV ISTHMUS_TRANSPORTS=hook ISTHMUS_HOOK_BASE=ib)
isthmus_pe_test(r63_regions_nv VARIANT ib NP 3 LAUNCHERS run TIMEOUT 300 ARGS counts
  ENV ISTHMUS_TRANSPORTS=ib ISTHMUS_IB_WORKERS=4 UCX_TLS=tcp,self)
isthmus_pe_test(r63_regions_nv VARIANT ib_check NP 3 LAUNCHERS run ARGS replies # every call takes its slow path
  ENV ISTHMUS_TRANSPORTS=ib ISTHMUS_IB_WORKERS=4 UCX_TLS=tcp,self ISTHMUS_CHECK=1)
foreach(program r22_target_computes r60_fence_and_quiet r92_one_home r95_target_without_calls)
  isthmus_pe_test(${program} VARIANT ib_sm NP 2 LAUNCHERS run LABELS thorough
    ENV ISTHMUS_TRANSPORTS=ib UCX_TLS=sm,tcp,self)
endforeach()

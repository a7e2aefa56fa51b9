# Jobs that hang, and their reports on request: of the launcher, from the notes of the PEs, and of each PE.
isthmus_pe_program(r13_hang)
set(sync "isthmus-run: PE 3 in shmem_free \\(collective 3\\) for "
         "isthmus-run: PEs 0-2 in shmem_long_broadcast \\(collective 3\\) for ")

# isthmus_hang_test(VARIANT WHOM LAUNCHER [MODE m] [ENV ...] REGEX...)
function(isthmus_hang_test variant whom launcher)
  cmake_parse_arguments(ARG "" "MODE" "ENV" ${ARGN})
  if(NOT ARG_MODE)
    set(ARG_MODE ${variant})
  endif()
  isthmus_launch_command(${launcher} 4 launch)
  if(launch AND NOT ISTHMUS_SANITIZE)
    add_test(NAME pe.r13_hang.${variant}.np4.${launcher} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/hang.sh ${whom}
      ${ARG_UNPARSED_ARGUMENTS} -- ${launch} $<TARGET_FILE:pe_r13_hang> ${ARG_MODE})
    set_tests_properties(pe.r13_hang.${variant}.np4.${launcher} PROPERTIES LABELS pe TIMEOUT 120 COST 20
      ENVIRONMENT "${ARG_ENV}")
  endif()
endfunction()

isthmus_hang_test(meeting launcher run ${sync})
isthmus_hang_test(meeting pes mpirun "isthmus: PE 3: in shmem_free \\(collective 3\\) for "
  "isthmus: PE [0-2]: in shmem_long_broadcast \\(collective 3\\) for ")
isthmus_hang_test(own_handler launcher run ${sync})
isthmus_hang_test(team launcher run "PE 3 in shmem_barrier_all \\(collective 2\\) for "
  "PEs 0-2 in shmem_team_sync \\(collective 1 of team [0-9]+\\) for ")
isthmus_hang_test(variable launcher run
  "PEs 0-3 in shmem_long_wait_until: flags\\+0x8 \\(static data\\+0x[0-9a-f]+\\) >= 5, is 0 for ")
isthmus_hang_test(set launcher run "PE 3 in shmem_long_wait_until_all: all of 4 from flags \\(.*\\) == 1, so far 0 for "
  "PEs 0-2 in shmem_long_wait_until_any: any of 4 from flags \\(.*\\) == 1, so far 0 for ")
isthmus_hang_test(lock launcher run "PE 0 in shmem_long_wait_until: flag "
  "PEs 1-3 in shmem_set_lock: lock \\(static data")
isthmus_hang_test(threads launcher run "PEs 0-3 in shmem_long_wait_until: flags\\+0x18 .* == 42, is 0 for " ${sync})
isthmus_hang_test(broadcast launcher run "PE 3 in no call that waits, process running"
  "PEs 0-2 in shmem_long_broadcast \\(collective 1\\) for ")
isthmus_hang_test(stopped launcher run "PE 3 in no call that waits, process stopped"
  "PEs 0-2 in shmem_malloc \\(collective 1\\) for " ENV ISTHMUS_PULSE_TIMEOUT=0)
isthmus_hang_test(not_in launcher run "PE 3 not in shmem_init so far, process sleeping" "PEs 0-2 in init, process "
  ENV TEST_N_PES=4)
if(TARGET plugin_ib)
  isthmus_hang_test(far launcher run "PE 3 in no call that waits, process stopped"
    "PEs 0-2 in shmem_long_g: awaits PE 3 for "
    ENV ISTHMUS_TRANSPORTS=ib ISTHMUS_PULSE_TIMEOUT=0 ISTHMUS_IB_TIMEOUT=600)
endif()
# After 2 s some PEs of a busy machine may be elsewhere than the others: a line for each place.
if(TARGET isthmus-run AND NOT ISTHMUS_SANITIZE)
  add_test(NAME pe.r13_hang.timeout.np4.run COMMAND ${EXPECT} -s 124 -a "isthmus-run: PEs? [-0-9, ]* (in|not in) .*"
    -1 "isthmus-run: timeout after 2 s; still running: PEs 0-3; ending them"
    -- $<TARGET_FILE:isthmus-run> -n 4 --timeout 2 $<TARGET_FILE:pe_r13_hang> variable)
  set_tests_properties(pe.r13_hang.timeout.np4.run PROPERTIES LABELS pe TIMEOUT 120 COST 20)
endif()

# PEs that are stopped while others run: the job ends and names them, unless a debugger has them, or no PE runs.
isthmus_pe_program(r13_stopped)
set(stopped_for "has been stopped for 1 s \\(SIGSTOP")
foreach(where init greeted contact put get barrier wait lock finalize)
  isthmus_pe_test(r13_stopped VARIANT ${where} ARGS ${where} NP 2 LAUNCHERS run
    ENV ISTHMUS_PULSE_TIMEOUT=1 TEST_N_PES=2
    EXPECT -s nonzero -t 60 -0 "^isthmus: " -1 "^isthmus-run: "
      -1 "^isthmus-run: PE 1 \\(pid [0-9]+\\) ${stopped_for}\\). \
ISTHMUS_PULSE_TIMEOUT=0 waits for it. ending the other PE$")
endforeach()
foreach(where init contact barrier wait lock finalize)
  isthmus_pe_test(r13_stopped VARIANT ${where} ARGS ${where} NP 3 LAUNCHERS mpirun
    ENV ISTHMUS_PULSE_TIMEOUT=1 TEST_N_PES=3
    EXPECT -s nonzero -t 60 -1 "^isthmus: " -1 "^isthmus: PE [01]: PE 2 on .* \\(pid [0-9]+\\) ${stopped_for}")
endforeach()
# The launcher's server serves no PE then, nor does it learn of an end.
set(stopped_in_start EXPECT -s nonzero -t 60 -1 "^isthmus: "
  -1 "^isthmus: PE 2 on .* \\(pid [0-9]+\\) ${stopped_for}.\\) while the job started, and is killed")
isthmus_pe_test(r13_stopped VARIANT greeted ARGS greeted NP 3 LAUNCHERS mpirun
  ENV ISTHMUS_PULSE_TIMEOUT=1 TEST_N_PES=3 ${stopped_in_start})
# Waits end by a clock that nobody sets: the time of day is set back by an hour here, after each reading.
if(TARGET double_host)
  isthmus_pe_test(r13_stopped VARIANT greeted.clock_set_back ARGS greeted NP 3 LAUNCHERS mpirun LABELS no_sanitizer
    ENV ISTHMUS_PULSE_TIMEOUT=1 TEST_N_PES=3 HOST_DOUBLE=clock_set_back LD_PRELOAD=$<TARGET_FILE:double_host>
    ${stopped_in_start})
endif()
# A program that the launcher does not see itself.
isthmus_pe_test(r13_stopped VARIANT of_script ARGS barrier NP 3 LAUNCHERS run PREFIX sh -c "\"$0\" \"$@\" || exit"
  ENV ISTHMUS_PULSE_TIMEOUT=1
  EXPECT -s nonzero -t 60 -1 "^isthmus: " -1 "^isthmus: PE [0-9]+: PE [0-9]+ on .* \\(pid [0-9]+\\) ${stopped_for}")
isthmus_pe_test(r13_stopped VARIANT debugger ARGS debugger NP 2 ENV ISTHMUS_PULSE_TIMEOUT=1 EXPECT -t 60 -0 "^isthmus")

foreach(launcher run mpirun)
  isthmus_launch_command(${launcher} 3 launch)
  if(launch AND NOT ISTHMUS_SANITIZE)
    add_test(NAME pe.r13_stopped.all.np3.${launcher}
      COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/suspended.sh pes 2 $<TARGET_FILE:pe_r13_stopped> ${launch})
    set_tests_properties(pe.r13_stopped.all.np3.${launcher} PROPERTIES LABELS pe TIMEOUT 120 COST 20)
  endif()
endforeach()
if(TARGET isthmus-run AND NOT ISTHMUS_SANITIZE)
  add_test(NAME pe.r13_stopped.suspended.np3.run COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/suspended.sh whole 2
    $<TARGET_FILE:pe_r13_stopped> $<TARGET_FILE:isthmus-run> -n 3)
  set_tests_properties(pe.r13_stopped.suspended.np3.run PROPERTIES LABELS pe TIMEOUT 120 COST 20)
endif()

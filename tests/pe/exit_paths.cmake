# R13: ends that begin elsewhere than in main, each alone on one host and through a network transport.
isthmus_pe_program(r13_exit_orders)
isthmus_pe_program(r13_loaded LIBRARIES ${CMAKE_DL_LIBS})
add_library(pe_r13_loaded_library MODULE r13_loaded_library.c)
target_link_libraries(pe_r13_loaded_library PRIVATE Isthmus::shmem isthmus_flags)
set_target_properties(pe_r13_loaded_library PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/pe PREFIX "")

# isthmus_exit_test(PROGRAM VARIANT [ARGS ...] [ENV ...] [LABELS ...] [LAUNCHERS ...] EXPECT ...)
function(isthmus_exit_test program variant)
  cmake_parse_arguments(ARG "" "" "ARGS;ENV;LABELS;LAUNCHERS;EXPECT" ${ARGN})
  isthmus_pe_test(${program} VARIANT ${variant} ARGS ${ARG_ARGS} NP 1 3 ENV ${ARG_ENV} LABELS ${ARG_LABELS}
    LAUNCHERS ${ARG_LAUNCHERS} EXPECT ${ARG_EXPECT})
  if(TARGET plugin_ib AND NOT ISTHMUS_SANITIZE)
    isthmus_pe_test(${program} VARIANT ${variant}.ib ARGS ${ARG_ARGS} NP 2 LAUNCHERS run LABELS ${ARG_LABELS}
      ENV ${ARG_ENV} ISTHMUS_TRANSPORTS=ib EXPECT ${ARG_EXPECT})
  endif()
endfunction()

foreach(when before after)
  isthmus_exit_test(r13_exit_orders finalize_${when} ARGS finalize_${when}
    EXPECT -t 60 -1 "^a handler finalizes" -0 "^isthmus")
endforeach()
isthmus_exit_test(r13_exit_orders handlers ARGS handlers
  EXPECT -t 60 -1 "^the earlier handler" -1 "^the later handler" -0 "^isthmus")
isthmus_exit_test(r13_exit_orders constructor ENV TEST_MODE=constructor
  EXPECT -t 60 -1 "^init in a constructor" -0 "^isthmus")
isthmus_exit_test(r13_exit_orders thread_exits ARGS thread_exits LABELS no_sanitizer EXPECT -t 60 -0 "^isthmus")
isthmus_exit_test(r13_exit_orders thread_fails ARGS thread_fails LABELS no_sanitizer EXPECT -s 5 -t 90 -m "^isthmus: ")
foreach(mode fork fork_exec)
  isthmus_exit_test(r13_exit_orders ${mode} ARGS ${mode} LABELS no_sanitizer EXPECT -t 60 -0 "^isthmus")
endforeach()
# To mpirun it is a PE that did not finalize: the session lasts until the process ends (docs/decisions.md).
isthmus_exit_test(r13_exit_orders exec ARGS exec LABELS no_sanitizer LAUNCHERS run EXPECT -t 60 -0 "^isthmus")
foreach(mode whole twice left in_handler)
  isthmus_exit_test(r13_loaded ${mode} ARGS $<TARGET_FILE:pe_r13_loaded_library> ${mode} LABELS no_sanitizer
    EXPECT -t 60 -0 "^isthmus")
endforeach()

# A watchdog: exit in a handler that interrupts a call.
isthmus_pe_program(r13_watchdog)
function(isthmus_watchdog_test where how status)
  string(JOIN . variant ${where} ${how} ${ARGN})
  set(settings ARGS ${where} ${how} ${ARGN} LABELS no_sanitizer EXPECT -s ${status} -t 60 -m "^isthmus: ")
  set(launchers run)
  if(variant MATCHES "^barrier")
    list(APPEND launchers mpirun)
  endif()
  isthmus_pe_test(r13_watchdog VARIANT ${variant} NP 2 LAUNCHERS ${launchers} ${settings})
  foreach(transport ib ofi)
    if(TARGET plugin_${transport})
      isthmus_pe_test(r13_watchdog VARIANT ${variant}.${transport} NP 2 LAUNCHERS run
        ENV ISTHMUS_TRANSPORTS=${transport} ISTHMUS_OFI_PROVIDER=tcp+ofi_rxm ${settings})
    endif()
  endforeach()
endfunction()
isthmus_watchdog_test(barrier exit3 3)
isthmus_watchdog_test(barrier exit3 3 300000 thread)
isthmus_watchdog_test(barrier global7 7)
isthmus_watchdog_test(wait global0 0)
isthmus_watchdog_test(wait exit0 nonzero) # of the other PE, which waits in vain
foreach(transport ib ofi) # on another host, too
  if(TARGET plugin_${transport})
    isthmus_pe_test(r13_watchdog VARIANT wait.exit0.apart.${transport} NP 2 LAUNCHERS run ARGS wait exit0
      ENV ISTHMUS_PRETEND_HOSTS=ab ISTHMUS_TRANSPORTS=loopback,${transport} ISTHMUS_OFI_PROVIDER=tcp+ofi_rxm
      LABELS no_sanitizer EXPECT -s nonzero -t 60 -1 "^isthmus: .*PE 1,? (which )?has exited without shmem_finalize")
  endif()
endforeach()
foreach(where get put malloc ctx)
  isthmus_watchdog_test(${where} exit3 3 20000)
endforeach()
isthmus_pe_test(r13_watchdog VARIANT init.exit3 ARGS init exit3 NP 3 LABELS no_sanitizer
  EXPECT -s 3 -t 60 -0 "^isthmus: ")

# An error is reported with its cause, in one block, and values make no lines of their own.
if(TARGET isthmus-run AND TARGET plugin_ib AND NOT ISTHMUS_SANITIZE)
  add_test(NAME pe.r13_exit_paths.full_shm.np2.run COMMAND ${EXPECT} -s 1 -1 "^isthmus: the job cannot start"
    -1 "^  what .*Out of memory .*; /dev/shm, which UCX uses for its shared memory, has 0 KiB free of 64 KiB"
    -- ${CMAKE_CURRENT_SOURCE_DIR}/full_shm.sh $<TARGET_FILE:isthmus-run> -n 2 $<TARGET_FILE:pe_r13_exit_paths> crash)
  set_tests_properties(pe.r13_exit_paths.full_shm.np2.run PROPERTIES LABELS pe TIMEOUT 120 SKIP_RETURN_CODE 77
    ENVIRONMENT "ISTHMUS_TRANSPORTS=ib;UCX_TLS=sm,tcp,self")
endif()
if(TARGET isthmus-run)
  add_test(NAME pe.r13_exit_paths.escapes.np2.run COMMAND ${EXPECT} -s 1 -1 "^isthmus: the job cannot start"
    -1 "^  what .*'lo there" -0 "^there"
    -- $<TARGET_FILE:isthmus-run> -n 2 $<TARGET_FILE:pe_r13_exit_paths> crash)
  set_tests_properties(pe.r13_exit_paths.escapes.np2.run PROPERTIES LABELS pe TIMEOUT 120
    ENVIRONMENT "ISTHMUS_TRANSPORTS=lo\nthere")
endif()

# A PE without memory: a PE that connects to it does not wait for ever. What the shortage hits first, the system
# decides: nothing, the PE that connects (1), or that PE itself, in a library that gives up.
if(TARGET plugin_ib)
  foreach(spare_kib 12 32)
    isthmus_pe_test(r13_starved VARIANT spare_${spare_kib} ARGS context ${spare_kib} NP 4 LAUNCHERS run
      LABELS no_sanitizer
      ENV ISTHMUS_TRANSPORTS=ib EXPECT -s 0,1,127,134,139 -t 60 -m "^isthmus: ")
  endforeach()
  isthmus_pe_test(r13_starved VARIANT peer ARGS peer 0 NP 4 LAUNCHERS run LABELS no_sanitizer
    ENV ISTHMUS_TRANSPORTS=ib EXPECT -s 0,1,127,134,139 -t 60 -m "^isthmus: ")
endif()

# Starts without a launcher, or with another one than isthmus-run: unique ids, communicators, attributes. The programs
# that fork their PEs themselves are one process for ctest.

# isthmus_fork_test(NAME VARIANT ARGS... [-- options of expect.sh])
function(isthmus_fork_test name variant)
  cmake_parse_arguments(ARG "" "" "ARGS;ENV;EXPECT" ${ARGN})
  isthmus_pe_test(${name} VARIANT ${variant} ARGS ${ARG_ARGS} ENV ${ARG_ENV} NP 1 LAUNCHERS alone EXPECT ${ARG_EXPECT})
endfunction()

isthmus_fork_test(r17_unique_id one ARGS 1 0 EXPECT -0 .)
isthmus_fork_test(r17_unique_id four ARGS 4 0 EXPECT -0 .)
isthmus_fork_test(r17_unique_id last_serves ARGS 4 3 EXPECT -0 .)
isthmus_fork_test(r17_unique_id by_address ARGS 4 1 far EXPECT -0 .)
isthmus_fork_test(r17_unique_id loopback_only ARGS 3 0 ENV NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo EXPECT -0 .)
if(NOT ISTHMUS_SANITIZE) # sanitizers search for the server's thread in the children, too
  isthmus_fork_test(r17_unique_id parent_serves ARGS 4 -1 EXPECT -0 .)
  isthmus_fork_test(r17_unique_id sixty_four ARGS 64 5 EXPECT -t 60 -0 .)
endif()
if(TARGET plugin_ib)
  isthmus_fork_test(r17_start_cost hosts ENV ISTHMUS_PRETEND_HOSTS=abcd EXPECT -t 60 -1 "^8 PEs: " -1 "^32 PEs: ")
endif()
isthmus_fork_test(r10_writers beside EXPECT -0 .)
isthmus_fork_test(r10_writers blocked ARGS blocked
  EXPECT -a "thread r10_writers .[0-9]+. blocks SIGSEGV, so that what other threads write .* may be lost")
isthmus_fork_test(r10_writers unreadable ARGS unreadable EXPECT -0 .)
isthmus_fork_test(r17_two_jobs both EXPECT -0 .)
isthmus_fork_test(r17_session session EXPECT -0 .)
isthmus_fork_test(r17_containers four EXPECT -0 .)
isthmus_fork_test(r17_slow_start one ENV ISTHMUS_PEER_TIMEOUT=1 EXPECT -0 .)
isthmus_fork_test(r17_session again ARGS again EXPECT -1 "this unique id is not served any more")

set(at "^process [0-9]: status ")
foreach(far "" far) # without and with a leader between PEs 1 to 3 and the root
  set(way "")
  if(far)
    set(way far_)
  endif()
  isthmus_fork_test(r17_faults ${way}wrong_n ARGS wrong_n ${far} EXPECT -t 60 -0 "${at}0"
    -1 "process [0-9]+ on .* passed a job size of [45], and PE [0-9] on .* one of [45]")
  isthmus_fork_test(r17_faults ${way}duplicate ARGS duplicate ${far} EXPECT -t 60 -0 "${at}0"
    -1 "two processes passed the PE number 1: process [0-9]+ on .* and process [0-9]+ on ")
  isthmus_fork_test(r17_faults ${way}bad_bytes ARGS bad_bytes ${far} ENV ISTHMUS_START_TIMEOUT=3
    EXPECT -t 60 -0 "${at}0"
    -1 "the unique id is invalid"
    -1 "3 of 4 PEs have joined the job within 3 s .ISTHMUS_START_TIMEOUT.. missing: PE 2$")
  isthmus_fork_test(r17_faults ${way}bad_secret ARGS bad_secret ${far} ENV ISTHMUS_START_TIMEOUT=3
    EXPECT -t 60 -0 "${at}0"
    -1 "its secret is wrong" -1 "3 of 4 PEs have joined the job within 3 s .ISTHMUS_START_TIMEOUT.. missing: PE 2$")
  isthmus_fork_test(r17_faults ${way}never_comes ARGS never_comes ${far} ENV ISTHMUS_START_TIMEOUT=3
    EXPECT -t 60 -0 "${at}0"
    -1 "3 of 4 PEs have joined the job within 3 s .ISTHMUS_START_TIMEOUT.. missing: PE 2$")
  isthmus_fork_test(r17_faults ${way}killed ARGS killed ${far} EXPECT -t 60 -0 "${at}0" -1 "status 137"
    -1 "^isthmus: PE [013]: PE 2 .process [0-9]+ on .*. has ended without finalizing. this PE ends too")
  isthmus_fork_test(r17_faults ${way}server_killed ARGS server_killed ${far} EXPECT -t 60 -0 "${at}0" -1 "status 137"
    -1 "^isthmus: PE [123]: PE 0, which serves the job, has ended without finalizing. this PE ends too")
  foreach(stopped "stopped;2" "server_stopped;0")
    list(GET stopped 0 fault)
    list(GET stopped 1 who)
    isthmus_fork_test(r17_faults ${way}${fault} ARGS ${fault} ${far} ENV ISTHMUS_PULSE_TIMEOUT=1
      EXPECT -t 60 -0 "${at}0" -1 "status 137" -1 "^isthmus"
      -1 "^isthmus: PE [0-3]: PE ${who} on .* .pid [0-9]+. has been stopped for 1 s .SIGSTOP.. and is killed. \
ISTHMUS_PULSE_TIMEOUT=0 waits")
  endforeach()
  # The PEs that find it stopped get stuck as they end, and kill it all the same.
  isthmus_fork_test(r17_faults ${way}server_stopped_unread ARGS server_stopped_unread ${far} ENV ISTHMUS_PULSE_TIMEOUT=1
    EXPECT -t 60 -0 "${at}0" -1 "status 137" -a "^isthmus: PE [0-3]: PE 0 on .* .pid [0-9]+. has been stopped for 1 s")
  isthmus_fork_test(r17_faults ${way}exits ARGS exits ${far} EXPECT -t 60 -0 "${at}0" -1 "status 3"
    -1 "^isthmus: PE [013]: PE 2 .process [0-9]+ on .*. has ended without finalizing. this PE ends too")
  isthmus_fork_test(r17_faults ${way}global_exit ARGS global_exit ${far} EXPECT -t 60 -0 "^isthmus" -0 "status [^7]")
  isthmus_fork_test(r17_faults ${way}misuse ARGS misuse ${far} EXPECT -t 60 -0 "status [^1]"
    -1 "^isthmus: PE 2: shmem_long_p: pe is 4. valid: 0 to 3")
endforeach()

isthmus_fork_test(r19_unique_id three EXPECT -0 .)
isthmus_pe_test(r18_attributes)
# The executable contains its MPI, and exports it as a library would.
isthmus_pe_program(r18_int_handles SOURCES r18_int_handles.c int_mpi.c LINK -rdynamic COMPILE -fvisibility=default)
isthmus_fork_test(r18_int_handles three EXPECT -t 60)
isthmus_pe_test(r19_attributes NP 1 3)
if(MPI_C_FOUND AND NOT ISTHMUS_SANITIZE)
  isthmus_pe_program(r18_communicator LIBRARIES MPI::MPI_C)
  foreach(which world reordered half)
    isthmus_pe_test(r18_communicator VARIANT ${which} ARGS nvshmem ${which} NP 1 2 4 LAUNCHERS mpirun)
  endforeach()
  isthmus_pe_test(r18_communicator VARIANT ishmem ARGS ishmem reordered NP 4 LAUNCHERS mpirun)
endif()

isthmus_pe_test(r54_buffer_register NO_ALIAS)
isthmus_pe_test(r58_symmetric_buffer NO_ALIAS)
set(refused "^isthmus: PE [0-9]+: warning: nvshmemx_buffer_")
isthmus_pe_test(r58_symmetric_buffer VARIANT extents ENV ISTHMUS_LOOPBACK_SPARSE=0 NP 1 3 LAUNCHERS run
  EXPECT -t 100 -a "${refused}register_symmetric: flags is 1"
    -a "${refused}register_symmetric: 0 bytes at .* whole pages"
    -a "${refused}register_symmetric: .* are not private anonymous memory"
    -a "${refused}unregister_symmetric: .* are not a symmetric buffer on each PE")
isthmus_pe_test(r58_many_buffers NO_ALIAS NP 1 2 3)
isthmus_pe_test(r58_many_buffers VARIANT extents ENV ISTHMUS_LOOPBACK_SPARSE=0 NP 3 LAUNCHERS run)

isthmus_pe_test(r119_team_init NP 1 2 3 4 7 16 NO_ALIAS)
# A PE reads the list of members from the first one in one piece for any number: its fourth get would fail.
isthmus_pe_test(r119_team_init VARIANT few_gets ARGS one NP 16 LAUNCHERS run
  ENV ISTHMUS_TRANSPORTS=hook ISTHMUS_HOOK_BASE=loopback ISTHMUS_HOOK_FAIL=get:4 ISTHMUS_HOOK_PE=5)
isthmus_pe_test(r119_teams_of_threads NP 2 4 LAUNCHERS run LABELS threads)
# Not under ThreadSanitizer: without aliases one thread writes a word of a peer after another one did, and what orders
# the two is a reply of the peer's process, which the sanitizer does not see.
isthmus_pe_test(r119_teams_of_threads VARIANT no_alias NP 2 3 LAUNCHERS run ENV ISTHMUS_ALIAS=0)

# ---- names of the other faces (R20), on a whole job ----

isthmus_environment(nvshmem_filter "NVSHMEM_DEBUG=TRACE;NVSHMEM_DEBUG_SUBSYS=MEM" -0 "debug: transport loopback")
isthmus_environment(nvshmem_filter_out "ISTHMUS_LOG=debug;ISTHMUS_LOG_FILTER=^TRANSPORT" -0 "debug: transport loopback")
isthmus_environment(nvshmem_filter_in "ISTHMUS_LOG=debug;ISTHMUS_LOG_FILTER=coll,transport"
  -1 "^isthmus: PE 0: debug: transport loopback .*: open$")
isthmus_environment(nvshmem_quiet "NVSHMEM_DISABLE_P2P=1;NVSHMEM_REMOTE_TRANSPORT=none;NVSHMEM_IB_GID_INDEX=1"
  -0 "^isthmus")
isthmus_environment(ishmem_quiet "ISHMEM_ENABLE_GPU_IPC=0;ISHMEM_RUNTIME=mpi;ISHMEM_TEAMS_MAX=3" -0 "^isthmus")
isthmus_environment(nvshmem_ignored NVSHMEM_QP_DEPTH=3 -1 "^isthmus: PE 0: warning: .*NVSHMEM_QP_DEPTH has no effect")
isthmus_pe_test(r20_environment PROGRAM r1_pe_numbers VARIANT attach_delay ENV NVSHMEM_DEBUG_ATTACH_DELAY=1 NP 1
  LAUNCHERS run EXPECT -1 "^isthmus: warning: process [0-9]+ waits 1 s for a debugger")
isthmus_failed_start(filter ISTHMUS_LOG_FILTER=MEMO "ISTHMUS_LOG_FILTER is 'MEMO'. accepted: " NP 3 LAUNCHERS run)
isthmus_failed_start(remote_transport NVSHMEM_REMOTE_TRANSPORT=rdma "NVSHMEM_REMOTE_TRANSPORT is 'rdma'. accepted: "
  NP 3 LAUNCHERS run)
isthmus_failed_start(uid_without_id NVSHMEM_BOOTSTRAP=UID
  "ISTHMUS_BOOTSTRAP is 'uid', but the program passes no unique id"
  NP 1 LAUNCHERS alone)

# tests/pe/collectives.cmake: collectives with each algorithm, and what ISTHMUS_CHECK finds.

isthmus_pe_test(r122_algorithms NP 1 2 3 4 7 16 NO_ALIAS)
set(R122_NP 5)
set(R122_MORE_NP 2 3) # label thorough
if(ISTHMUS_SANITIZE)
  set(R122_NP 3)
  set(R122_MORE_NP "")
endif()
foreach(choice BARRIER=central BARRIER=dissemination BROADCAST=tree BROADCAST=pull FCOLLECT=direct
    FCOLLECT=dissemination FCOLLECT=ring COLLECT=direct COLLECT=tree
    ALLTOALL=direct ALLTOALL=pairwise REDUCE=doubling REDUCE=central REDUCE=owner SCAN=owner)
  string(REPLACE "=" "_" variant ${choice})
  string(TOLOWER ${variant} variant)
  isthmus_pe_test(r122_algorithms VARIANT ${variant} NP ${R122_NP} LAUNCHERS run NO_ALIAS ENV ISTHMUS_COLL_${choice})
  foreach(n ${R122_MORE_NP})
    isthmus_pe_test(r122_algorithms VARIANT ${variant} NP ${n} LAUNCHERS run LABELS thorough ENV ISTHMUS_COLL_${choice})
  endforeach()
endforeach()
# With many PEs one is often ahead of another.
isthmus_pe_test(r122_algorithms VARIANT alltoall_pairwise_many NP 16 LAUNCHERS run ENV ISTHMUS_COLL_ALLTOALL=pairwise)
isthmus_pe_test(r122_algorithms VARIANT check NP 3 LAUNCHERS run ENV ISTHMUS_CHECK=1)


# Between hosts, which one host pretends to be: every algorithm, for members in blocks, in turn and unevenly placed.
# Where an algorithm does not apply another one is taken. The heap has a size, because the pretended hosts share one
# memory unevenly.
if(TARGET plugin_ib)
  set(ALL_BY_HOSTS "")
  foreach(what BARRIER BROADCAST FCOLLECT COLLECT REDUCE)
    list(APPEND ALL_BY_HOSTS ISTHMUS_COLL_${what}=hosts)
  endforeach()
  foreach(place 0011 010)
    set(hosts ISTHMUS_PRETEND_HOSTS=${place} ISTHMUS_HEAP_SIZE=64m)
    string(LENGTH ${place} n)
    isthmus_pe_test(r122_algorithms VARIANT pretend_${place} NP ${n} LAUNCHERS run ENV ${hosts} ${ALL_BY_HOSTS})
    isthmus_pe_test(r122_collectives_in_a_row VARIANT pretend_${place} NP ${n} LAUNCHERS run LABELS thorough
      ENV ${hosts} ${ALL_BY_HOSTS})
    isthmus_pe_test(r122_meetings_in_a_row VARIANT pretend_${place} NP ${n} LAUNCHERS run LABELS thorough
      ENV ${hosts} ${ALL_BY_HOSTS})
  endforeach()
  foreach(place 0011 01 0001 011 01021 00112)
    set(hosts ISTHMUS_PRETEND_HOSTS=${place} ISTHMUS_HEAP_SIZE=64m)
    set(common LAUNCHERS run LABELS thorough TIMEOUT 300)
    isthmus_pe_test(r122_algorithms VARIANT auto_on_${place} NP 5 ${common} ENV ${hosts})
    isthmus_pe_test(r122_algorithms VARIANT check_on_${place} NP 5 ${common} ENV ${hosts} ISTHMUS_CHECK=1)
    isthmus_pe_test(r122_algorithms VARIANT hosts_on_${place} NP 2 3 4 5 7 ${common} ENV ${hosts} ${ALL_BY_HOSTS})
    isthmus_pe_test(r122_algorithms VARIANT no_alias_on_${place} NP 5 ${common}
      ENV ${hosts} ${ALL_BY_HOSTS} ISTHMUS_ALIAS=0)
    foreach(choice BARRIER=dissemination BROADCAST=tree FCOLLECT=direct FCOLLECT=dissemination FCOLLECT=ring
        COLLECT=direct COLLECT=tree ALLTOALL=direct ALLTOALL=pairwise REDUCE=doubling REDUCE=owner SCAN=owner)
      string(REPLACE "=" "_" variant ${choice})
      string(TOLOWER ${variant} variant)
      isthmus_pe_test(r122_algorithms VARIANT ${variant}_on_${place} NP 5 ${common} ENV ${hosts} ISTHMUS_COLL_${choice})
    endforeach()
  endforeach()
endif()

# NAME of the mistake in r52_checks.c, which PE 1 makes, and the one line that it must give
set(MISTAKES
  routine   "PE 1 is in shmem_free, the others in shmem_barrier_all. \
all PEs of a team call its collectives in the same order"
  size      "PE 1 passes other arguments than the others: 64 bytes there, 128 bytes on the others"
  block     "PE 1 passes other arguments than the others: the block lies elsewhere"
  root      "PE 1 passes other arguments than the others: PE_root is 1 there and 0 on the others"
  count     "PE 1 passes other arguments than the others: 40 bytes there, 32 bytes on the others"
  dest      "PE 1 passes other arguments than the others: dest lies elsewhere"
  operator  "PE 1 is in shmem_long_max_reduce, the others in shmem_long_sum_reduce"
  sync      "PE 1 is in shmem_sync_all, the others in shmem_team_sync"
  split     "PE 1 passes other arguments than the others: start is 1 there and 0 on the others"
  team      "shmem_long_fcollect: team is invalid or was destroyed"
  no_team   "shmem_team_sync: team is invalid"
  reduce    "dest 0x[0-9a-f]+ .32 bytes. overlaps source 0x[0-9a-f]+ .32 bytes.. valid: buffers apart, or the same"
  signal    "shmem_long_put_signal: sig_addr 0x[0-9a-f]+ lies in dest 0x[0-9a-f]+ .32 bytes."
  put       "shmem_long_put: dest 0x[0-9a-f]+ .800 bytes. overlaps source .*called from r52_checks"
  get       "shmem_long_get: dest 0x[0-9a-f]+ .800 bytes. overlaps source .*called from r52_checks")
while(MISTAKES)
  list(POP_FRONT MISTAKES name line)
  isthmus_pe_test(r52_checks VARIANT ${name} ARGS ${name} NP 3 LAUNCHERS run ENV ISTHMUS_CHECK=1
    EXPECT -s nonzero -t 60 -1 "^isthmus: PE [0-9]+: .*${line}" -1 "^isthmus: ")
endwhile()
isthmus_pe_test(r52_checks VARIANT none ARGS none NP 1 2 3 16 LAUNCHERS run NO_ALIAS ENV ISTHMUS_CHECK=1)

# Two containers of one host may show different numbers of processors: all PEs use the number of the host's first one.
# The choice between a central and a message barrier depends on it, and a PE that chose alone would wait for ever.
if(NOT ISTHMUS_SANITIZE)
  add_library(other_cpus MODULE other_cpus.c)
  target_link_libraries(other_cpus PRIVATE isthmus_flags)
  foreach(program r122_algorithms r122_meetings_in_a_row)
    isthmus_pe_test(${program} VARIANT other_cpus NP 4 LAUNCHERS run
      ENV LD_PRELOAD=$<TARGET_FILE:other_cpus> TIMEOUT 120)
  endforeach()
endif()

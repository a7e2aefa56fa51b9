# tests/pe/environment.cmake: R20: the effect of variables on a whole job, and starts that fail: one block for the job.

# isthmus_environment(VARIANT SETTINGS EXPECT...): r1_pe_numbers under these settings, "-" between them
function(isthmus_environment variant settings)
  isthmus_pe_test(r20_environment PROGRAM r1_pe_numbers VARIANT ${variant} ENV ${settings} NP 1 3 EXPECT ${ARGN})
endfunction()

foreach(prefix ISTHMUS SHMEM SMA)
  isthmus_environment(${prefix}_VERSION ${prefix}_VERSION=1 -1 "Isthmus [0-9.]+ .OpenSHMEM 1.6., [0-9]+ PEs$")
  isthmus_environment(${prefix}_INFO ${prefix}_INFO=1 -1 "^ISTHMUS_HEAP_SIZE  *-  *default$" -1 "^ISTHMUS_TRANSPORTS ")
endforeach()
isthmus_environment(info_names_origin "SHMEM_INFO=1;SMA_SYMMETRIC_SIZE=64m"
  -1 "^ISTHMUS_HEAP_SIZE .*SMA_SYMMETRIC_SIZE$")
isthmus_environment(unknown_name ISTHMUS_HEAP_SIZ=3m
  -1 "^isthmus: PE 0: warning: .*ISTHMUS_HEAP_SIZ. did you mean ISTHMUS_HEAP_SIZE"
  -1 "^isthmus")
isthmus_environment(ignored_name SHMEM_BOUNCE_SIZE=3 -1 "^isthmus: PE 0: warning: .*SHMEM_BOUNCE_SIZE has no effect"
  -1 "^isthmus")
isthmus_environment(silently_ignored_name SHMEM_TEAMS_MAX=3 -0 "^isthmus")
isthmus_environment(debug SHMEM_DEBUG=1 -1 "^isthmus: PE 0: debug: transport loopback .*: open$")
isthmus_environment(quiet_by_default "" -0 "^isthmus")

# Of several names for one setting ISTHMUS_ has precedence over SHMEM_, and that over SMA_.
isthmus_pe_test(r20_priority PROGRAM r53_heap_size VARIANT shmem_sma ARGS 67108864 NP 1 3 LAUNCHERS run
  ENV SHMEM_SYMMETRIC_SIZE=64m SMA_SYMMETRIC_SIZE=4m)
isthmus_pe_test(r20_priority PROGRAM r53_heap_size VARIANT isthmus_shmem ARGS 67108864 NP 1 3 LAUNCHERS run
  ENV ISTHMUS_HEAP_SIZE=64m SHMEM_SYMMETRIC_SIZE=4m SMA_SYMMETRIC_SIZE=2m)

# isthmus_failed_start(VARIANT SETTINGS WHAT NP ... [LAUNCHERS ...]): the block appears once, with WHAT in it
function(isthmus_failed_start variant settings what)
  isthmus_pe_test(r20_failed_start PROGRAM r1_pe_numbers VARIANT ${variant} ENV ${settings} ${ARGN}
    EXPECT -s nonzero -t 60 -1 "^isthmus: the job cannot start$" -1 "^  what  *${what}"
      -1 "^  where  *(a PE|PE [0-9]+) on "
           -1 "^  to fix " -1 "^isthmus: ")
endfunction()

foreach(size abc -1 0 1x "")
  isthmus_failed_start(heap_size_${size} ISTHMUS_HEAP_SIZE=${size} "ISTHMUS_HEAP_SIZE is '${size}'. accepted: " NP 1 4)
endforeach()
isthmus_failed_start(heap_base ISTHMUS_HEAP_BASE=0x1000 "ISTHMUS_HEAP_BASE is '0x1000'. accepted: same, any" NP 4
  LAUNCHERS run)
isthmus_failed_start(heap_size_of_shmem SHMEM_SYMMETRIC_SIZE=much ".*SHMEM_SYMMETRIC_SIZE.*'much'" NP 4 LAUNCHERS run)
isthmus_failed_start(barrier ISTHMUS_COLL_BARRIER=centrl "ISTHMUS_COLL_BARRIER is 'centrl'. accepted: .*central" NP 4)
isthmus_failed_start(unknown_transport ISTHMUS_TRANSPORTS=lopback
  "ISTHMUS_TRANSPORTS names 'lopback'.*did you mean 'loopback'" NP 1 4 16)
isthmus_failed_start(atomics_of_adapters ISTHMUS_ATOMICS=nic
  "ISTHMUS_ATOMICS is nic, but no transport of this PE executes atomics that way: \
.*loopback: its atomics are executed by processors" NP 1 4 LAUNCHERS run)
if(TARGET plugin_ib)
  isthmus_failed_start(atomics_over_tcp "ISTHMUS_ATOMICS=nic;ISTHMUS_TRANSPORTS=ib,loopback"
    ".* ib: its atomics are executed by processors .the network is TCP, which has no atomics by adapters." NP 1 2
    LAUNCHERS run)
endif()
isthmus_failed_start(heap_too_large ISTHMUS_HEAP_SIZE=4000000t ".*heap" NP 1 4 LAUNCHERS run)
isthmus_failed_start(sizes_differ ""
  "ISTHMUS_HEAP_SIZE is '[0-9]+' on PE [0-9]+, and '[0-9]+' on PE 0 on .*. all PEs need the same$"
  NP 4 16 PREFIX ${CMAKE_CURRENT_SOURCE_DIR}/with_own_setting.sh ISTHMUS_HEAP_SIZE=7 each)
isthmus_failed_start(one_size_wrong "" "(PE 2.*: )?ISTHMUS_HEAP_SIZE is 'x'"
  NP 4 16 PREFIX ${CMAKE_CURRENT_SOURCE_DIR}/with_own_setting.sh ISTHMUS_HEAP_SIZE=x 2)
isthmus_pe_test(r20_init_again NP 1 4 EXPECT -t 60 -1 "^isthmus: the job cannot start$" -1 "^isthmus: ")

isthmus_failed_start(one_size_differs "" "ISTHMUS_HEAP_SIZE is '7' on PE 3, and not set on PE 0 on "
  NP 4 16 PREFIX ${CMAKE_CURRENT_SOURCE_DIR}/with_own_setting.sh ISTHMUS_HEAP_SIZE=7 3)

# Variables of a launcher without a PMIx server: never a job of one PE.
isthmus_failed_start(no_server "PMIX_NAMESPACE=x;PMIX_RANK=0"
  "PMIX_NAMESPACE is x and PMIX_RANK is 0, but the PMIx server"
  NP 1 LAUNCHERS alone)
isthmus_failed_start(open_mpi_without_pmix "OMPI_COMM_WORLD_SIZE=4;OMPI_COMM_WORLD_RANK=0" "OMPI_COMM_WORLD_SIZE is 4"
  NP 1 LAUNCHERS alone)
isthmus_failed_start(pmi_1 "PMI_SIZE=4;PMI_RANK=0" "PMI_SIZE is 4" NP 1 LAUNCHERS alone)
isthmus_failed_start(srun_without_pmix "SLURM_STEP_NUM_TASKS=2;SLURM_PROCID=0" "SLURM_STEP_NUM_TASKS is 2" NP 1
  LAUNCHERS alone)
isthmus_pe_test(r20_alone PROGRAM r1_pe_numbers NP 1 LAUNCHERS alone)
isthmus_pe_test(r20_init_thread_fails ENV ISTHMUS_HEAP_SIZE=abc NP 1 3
  EXPECT -s 9 -t 60 -1 "^isthmus: the job cannot start$" -1 "^isthmus: ")

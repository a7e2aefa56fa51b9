# tests/pe/findings.cmake: mistakes that ISTHMUS_CHECK=1 reports without an end of the job, and its silence otherwise.

# NAME of the mistake in r52_findings.c, and the one line that it must give (no semicolon: it
# would end the item); the twin gives none
set(site "called (in [a-z_]+ .r52_findings.[0-9a-fx]+.|from r52_findings.0x[0-9a-f]+)")
set(FINDINGS
  freed         "PE 1: check: shmem_long_p: dest is 0x[0-9a-f]+, 0 bytes into a block of 800 bytes that was freed \
.shmem_free, ${site}.. valid: .*. ${site}$"
  freed_source  "PE 1: check: shmem_long_put: source is 0x[0-9a-f]+, 0 bytes into a block of 800 bytes that was freed"
  past_end      "PE 1: check: shmem_long_get: source is 0x[0-9a-f]+, 24 bytes from there pass the end of a block of \
800 bytes by 8 .shmem_malloc, ${site}"
  changed       "PE 1: check: shmem_long_put_nbi: source 0x[0-9a-f]+ .800 bytes, to PE 2. \
has changed before the operation was complete. right: .*. ${site}$"
  written       "PE 1: check: shmem_long_get_nbi: byte 24 of dest 0x[0-9a-f]+ .800 bytes, from PE 2. \
was written before the operation was complete"
  in_use        "PE 1: check: shmem_long_put: source 0x[0-9a-f]+ .8 bytes. is read by this call, \
and the dest 0x[0-9a-f]+ .800 bytes. of shmem_long_get_nbi with PE 2, which is not complete, ${site}"
  in_use_reduce "PE 1: check: shmem_long_sum_reduce: source 0x[0-9a-f]+ .800 bytes. is read by this call, and the dest"
  in_use_fetch  "PE 1: check: shmem_long_put: source 0x[0-9a-f]+ .8 bytes. is read by this call, \
and the dest 0x[0-9a-f]+ .8 bytes. of shmem_long_atomic_fetch_add_nbi with PE 2"
  mixed         "PE 2: check: shmem_long_p: dest is 0x[0-9a-f]+ on PE 1: a plain write, \
while PE 0 makes an atomic of 8 bytes there in shmem_long_atomic_add, ${site}. right: .*. ${site}$"
  mixed_get     "PE 2: check: shmem_long_atomic_add: dest is 0x[0-9a-f]+ on PE 1: an atomic of 8 bytes, \
while PE 0 makes a plain write"
  widths        "PE 2: check: shmem_int_atomic_add: dest is 0x[0-9a-f]+ on PE 1: an atomic of 4 bytes, \
while PE 0 makes an atomic of 8 bytes"
  types         "PE 2: check: shmem_double_atomic_set: dest is 0x[0-9a-f]+ on PE 1: an atomic of 8 bytes, \
floating point, while PE 0"
  unordered     "PE 1: check: shmem_long_wait_until: ivar 0x[0-9a-f]+ was set by PE 0 in shmem_long_p, ${site}, \
without fence or quiet after its shmem_long_put of 800 bytes, ${site} to this PE. right: .*. ${site}$"
  unordered_add "PE 1: check: shmem_long_wait_until: ivar 0x[0-9a-f]+ was set by PE 0 in shmem_long_atomic_inc"
  unordered_any "PE 1: check: shmem_long_wait_until_any: ivar 0x[0-9a-f]+ was set by PE 0 in shmem_long_p"
  often         "PE 1: check: shmem_long_put_nbi: the same 9 times more. ${site}$"
  leak_block    "PE 0: leak: shmem_malloc: 300 bytes in 3 blocks from 0x[0-9a-f]+ on are still allocated at finalize. \
right: shmem_free. ${site}$"
  leak_ctx      "PE 1: leak: shmem_ctx_create: the context 0x[0-9a-f]+ is not destroyed at finalize. right: .*. \
${site}$"
  leak_team     "PE 0: leak: shmem_team_split: a team of [0-9]+ PEs is not destroyed at finalize. right: .*. ${site}$")
while(FINDINGS)
  list(POP_FRONT FINDINGS name line)
  set(only -1 "^isthmus: ")
  if(name STREQUAL often)
    set(only -1 "^isthmus: PE 1: check: shmem_long_put_nbi: source")
  endif()
  foreach(alias 1 0)
    if(ISTHMUS_SANITIZE AND NOT alias)
      continue()
    endif()
    set(way "")
    set(labels "")
    if(NOT alias)
      if(name MATCHES "^(mixed|mixed_get|widths|types)$")
        continue() # they synchronize through shmem_ptr
      endif()
      set(way no_alias.)
      if(NOT name MATCHES "^(past_end|changed|in_use|unordered)$")
        set(labels thorough) # the checks are the same
      endif()
    endif()
    isthmus_pe_test(r52_findings VARIANT ${way}${name} ARGS ${name} NP 3 LAUNCHERS run LABELS ${labels}
      ENV ISTHMUS_CHECK=1 ISTHMUS_ALIAS=${alias} EXPECT -t 60 -1 "^isthmus: ${line}" ${only})
    isthmus_pe_test(r52_findings VARIANT ${way}${name}_right ARGS ${name} right NP 3 LAUNCHERS run LABELS ${labels}
      ENV ISTHMUS_CHECK=1 ISTHMUS_ALIAS=${alias} EXPECT -t 60 -0 "^isthmus")
  endforeach()
endwhile()
# Off: no message, and no PE is ended.
isthmus_pe_test(r52_findings VARIANT off ARGS unordered NP 3 LAUNCHERS run EXPECT -t 60 -0 "^isthmus")

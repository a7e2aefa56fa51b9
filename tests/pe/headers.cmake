# tests/pe/headers.cmake: R153 to R158, the compilation of programs: standards, names, generic macros, tools in front of
# the library, all headers at once. A sanitizer learns nothing from them.
if(ISTHMUS_SANITIZE)
  return()
endif()
foreach(standard C_99 C_11 C_17 CXX_11 CXX_17)
  string(REGEX MATCH "^[A-Z]+" language ${standard})
  string(REGEX MATCH "[0-9]+" year ${standard})
  string(TOLOWER r153_${standard} name)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/r153_without_generics.c)
  if(language STREQUAL CXX)
    file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp CONTENT "#include \"${source}\"\n")
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  endif()
  add_executable(pe_${name} ${source})
  target_link_libraries(pe_${name} PRIVATE Isthmus::shmem)
  target_compile_options(pe_${name} PRIVATE -Wall -Wextra -Werror -pedantic)
  target_compile_definitions(pe_${name} PRIVATE _GNU_SOURCE)
  set_target_properties(pe_${name} PROPERTIES ${language}_STANDARD ${year} ${language}_EXTENSIONS OFF
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/pe)
  isthmus_pe_test(${name} NP 1 2 3 LAUNCHERS run)
endforeach()
isthmus_pe_test(r154_strict NP 2 LAUNCHERS run)
isthmus_pe_test(r155_generic_rma NO_ALIAS NO_INLINE)
isthmus_pe_test(r155_generic_atomics NO_ALIAS NO_INLINE)
isthmus_pe_test(r155_generic_waits NO_ALIAS NO_INLINE)
isthmus_pe_test(r155_generic_collectives NP 1 2 3)
isthmus_pe_test(r155_generic_old_names NP 1 2 3)
file(GLOB names CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/r153_* ${CMAKE_CURRENT_SOURCE_DIR}/*_names.txt)
set(cuda_headers "") # which the public ones include where the compiler finds them; cuda.h has CUDA's version
foreach(folder /usr/include /usr/local/include /usr/local/cuda/include)
  foreach(header cuda.h cuda_bf16.h driver_types.h)
    list(APPEND cuda_headers ${folder}/${header})
  endforeach()
endforeach()
isthmus_unless_unchanged(before pe.r153_names INPUTS ${names} ${PUBLIC_HEADERS} $<TARGET_FILE:isthmus>
  ${PROJECT_SOURCE_DIR}/tests/doubles/sycl ${cuda_headers} TOOLS ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER} nm)
add_test(NAME pe.r153_names COMMAND ${before} ${CMAKE_CURRENT_SOURCE_DIR}/r153_names.py --cc ${CMAKE_C_COMPILER}
  --cxx ${CMAKE_CXX_COMPILER} --library $<TARGET_FILE:isthmus>
  --include ${CMAKE_BINARY_DIR}/gen/include --include ${PROJECT_SOURCE_DIR}/include)
isthmus_unless_unchanged(before pe.r153_generator INPUTS ${CMAKE_CURRENT_SOURCE_DIR}/r153_generator.py
  ${PROJECT_SOURCE_DIR}/tools ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/core/api)
add_test(NAME pe.r153_generator
  COMMAND ${before} ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/r153_generator.py ${PROJECT_SOURCE_DIR})
set_tests_properties(pe.r153_names pe.r153_generator PROPERTIES LABELS pe TIMEOUT 300) # compilers, which compute only

# R156: the tool as an archive and as a shared object in front of the library, loaded before it, and not at all; the
# program once with the addresses that position-dependent code has. A compiler that optimises, so that there are inlined
# paths.
foreach(kind STATIC SHARED)
  string(TOLOWER r156_tool_${kind} tool)
  add_library(${tool} ${kind} r156_tool.c)
  target_link_libraries(${tool} PUBLIC Isthmus::shmem)
  set_target_properties(${tool} PROPERTIES C_VISIBILITY_PRESET default)
  target_compile_options(${tool} PRIVATE -O2)
endforeach()
isthmus_pe_program(r156_profiling COMPILE -O2 LIBRARIES ${CMAKE_DL_LIBS})
isthmus_pe_program(r156_fixed SOURCES r156_profiling.c COMPILE -O2 -fno-pie LINK -no-pie LIBRARIES ${CMAKE_DL_LIBS})
set_target_properties(pe_r156_fixed PROPERTIES POSITION_INDEPENDENT_CODE OFF)
foreach(kind static shared)
  isthmus_pe_program(r156_${kind} SOURCES r156_profiling.c COMPILE -O2 LINK -Wl,--no-as-needed
    LIBRARIES ${CMAKE_DL_LIBS})
  set_property(TARGET pe_r156_${kind} PROPERTY LINK_LIBRARIES r156_tool_${kind} Isthmus::shmem isthmus_flags
    Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(pe_r156_${kind} PROPERTIES ENABLE_EXPORTS ON)
  isthmus_pe_test(r156_${kind} NP 1 2 3)
endforeach()
foreach(program r156_profiling r156_fixed)
  isthmus_pe_test(${program} VARIANT alone ARGS alone NP 1 2 3)
  isthmus_pe_test(${program} VARIANT preload NP 1 2 3 LAUNCHERS run
    PREFIX ${CMAKE_COMMAND} -E env LD_PRELOAD=$<TARGET_FILE:r156_tool_shared>)
endforeach()

# Sources that are C and C++ at once, and use all headers.
foreach(name r157_constants r158_faces)
  isthmus_pe_program(${name}_cxx SOURCES ${name}.cpp)
  isthmus_pe_test(${name} NO_ALIAS NP 1 2 3)
  isthmus_pe_test(${name}_cxx NP 2 LAUNCHERS run)
endforeach()

find_path(CUDA_HEADERS cuda_bf16.h HINTS ENV CUDA_HOME PATHS /usr/local/cuda/include)
if(CUDA_HEADERS)
  isthmus_pe_program(r158_cuda_types SOURCES r158_cuda_types.cpp)
  target_include_directories(pe_r158_cuda_types SYSTEM PRIVATE ${CUDA_HEADERS})
  isthmus_pe_test(r158_cuda_types NP 1 2 LAUNCHERS run)
endif()

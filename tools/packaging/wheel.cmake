# The last step of installing a wheel (pyproject.toml): a tree as wheels can hold it. They have no links, and a link to
# the library that becomes a copy could be loaded beside it, as a second runtime in a process.
# Functions keep the variables to themselves: the script of the whole install, which includes this one, goes on.

# Of share/ only what the headers point to: neither man nor a shell nor Debian's tools search a folder of Python's.
function(leave_out_pages prefix)
  file(GLOB others ${prefix}/share/* ${prefix}/share/doc/*)
  list(REMOVE_ITEM others ${prefix}/share/doc ${prefix}/share/doc/isthmus)
  file(REMOVE_RECURSE ${others})
endfunction()

# The library has the one name that programs need at run time, also where CMake's package names it.
function(give_one_name lib)
  file(GLOB library ${lib}/libisthmus.so.*.*)
  get_filename_component(long_name ${library} NAME)
  string(REGEX REPLACE "(\\.so\\.[0-9]+)\\..*" "\\1" short_name ${long_name})
  file(RENAME ${library} ${lib}/${short_name})
  file(GLOB packages ${lib}/cmake/Isthmus/IsthmusTargets-*.cmake)
  foreach(package ${packages})
    file(READ ${package} text)
    string(REPLACE ${long_name} ${short_name} text "${text}")
    file(WRITE ${package} "${text}")
  endforeach()
endfunction()

# The names that only linkers look for become texts for them, with a path from a folder of -L.
function(write_links_as_texts lib)
  file(GLOB_RECURSE links ${lib}/*.so)
  set(texts "")
  foreach(link ${links})
    if(IS_SYMLINK ${link})
      get_filename_component(folder ${link} DIRECTORY)
      file(REAL_PATH ${folder} folder)
      file(REAL_PATH ${link} library)
      file(RELATIVE_PATH path ${folder} ${library})
      set(text_${link} "INPUT(${path})\n")
      list(APPEND texts ${link})
    endif()
  endforeach()
  foreach(link ${texts}) # after all are known: a link may lead to another one
    file(REMOVE ${link})
    file(WRITE ${link} "${text_${link}}")
  endforeach()
endfunction()

leave_out_pages($ENV{DESTDIR}${CMAKE_INSTALL_PREFIX})
give_one_name($ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib)
write_links_as_texts($ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib)

# Read by cpack before it makes packages: what it runs for the names of the packages that a library comes from.
foreach(tool dpkg-shlibdeps file)
  find_program(path_of_${tool} ${tool})
  if(NOT path_of_${tool})
    message(FATAL_ERROR "cpack -G DEB: ${tool} is not installed; apt-get install dpkg-dev file")
  endif()
endforeach()

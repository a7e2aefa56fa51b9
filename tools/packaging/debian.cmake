# `cpack -G DEB` in a build tree of the preset "package": one Debian package for each component of the install. Plugins
# that load a fabric's library have packages of their own, which bring that library; the compiler wrappers do, because
# openmpi-bin has files of the same names.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME isthmus)
set(CPACK_PACKAGE_VENDOR Isthmus)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL library development tools wrappers)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/needs.cmake)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

# As Debian's own tools name the person that builds packages.
if(DEFINED ENV{DEBEMAIL} AND DEFINED ENV{DEBFULLNAME})
  set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
else()
  set(maintainer "Isthmus developers <isthmus@localhost.localdomain>")
endif()
set(ISTHMUS_PACKAGE_MAINTAINER "${maintainer}" CACHE STRING "Maintainer of the Debian packages: NAME <ADDRESS>")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${ISTHMUS_PACKAGE_MAINTAINER}")

set(version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(folder ${CMAKE_BINARY_DIR}/gen/debian)
configure_file(${CMAKE_CURRENT_LIST_DIR}/copyright.in ${folder}/copyright)
file(CONFIGURE OUTPUT ${folder}/changelog.Debian CONTENT "isthmus (${version}) unstable; urgency=medium

  * Version ${PROJECT_VERSION}, as packaged by cpack.

 -- ${ISTHMUS_PACKAGE_MAINTAINER}  Sun, 01 Nov 2026 00:00:00 +0000
" @ONLY)
execute_process(COMMAND gzip -9nkf ${folder}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${folder}/triggers "activate-noawait ldconfig\n")

# isthmus_debian_package(COMPONENT NAME SECTION DEPENDS SUMMARY DESCRIPTION): its documents are installed in packages
# only.
macro(isthmus_debian_package component name section depends summary description)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}\n${description}")
  set(package_component_${name} ${component})
  install(FILES ${folder}/copyright ${folder}/changelog.Debian.gz DESTINATION share/doc/${name} COMPONENT ${component}
    EXCLUDE_FROM_ALL)
endmacro()

set(about
  "Isthmus runs programs written for OpenSHMEM, NVSHMEM and Intel SHMEM: each\n\
process has symmetric memory, which the others read and write.")
set(library libisthmus0)
isthmus_debian_package(library ${library} libs "" "portable SHMEM runtime, the library"
  "${about}\nThis is the library with the transports inside a host.")
isthmus_debian_package(development libisthmus-dev libdevel "${library} (= ${version})"
  "portable SHMEM runtime, for development"
  "${about}\nThese are headers, what pkg-config and CMake read, and the routines' pages.")
isthmus_debian_package(tools isthmus-tools utils "${library} (= ${version})"
  "portable SHMEM runtime, launcher and tools"
  "${about}\nThese are the launcher of jobs on one host, and tools that report what the\n\
library does and check transports.")
isthmus_debian_package(wrappers isthmus-oshcc devel
  "libisthmus-dev (= ${version}), isthmus-tools (= ${version}), gcc | c-compiler, g++ | c++-compiler"
  "portable SHMEM runtime, compiler wrappers"
  "${about}\nThese are the usual names oshcc, oshc++ and oshrun, which openmpi-bin has too.")
set(CPACK_DEBIAN_WRAPPERS_PACKAGE_CONFLICTS openmpi-bin)
set(CPACK_DEBIAN_WRAPPERS_PACKAGE_SHLIBDEPS OFF)
if(TARGET plugin_ib)
  list(APPEND CPACK_COMPONENTS_ALL ib)
  isthmus_debian_package(ib libisthmus-ib libs "${library} (= ${version}), libucx0 (>= 1.13)"
    "portable SHMEM runtime, transport through UCX"
    "${about}\nThis is the transport between hosts through UCX: InfiniBand, RoCE and TCP.")
endif()
if(TARGET plugin_ofi)
  list(APPEND CPACK_COMPONENTS_ALL ofi)
  isthmus_debian_package(ofi libisthmus-ofi libs "${library} (= ${version}), libfabric1 (>= 1.14)"
    "portable SHMEM runtime, transport through libfabric"
    "${about}\nThis is the transport between hosts through libfabric.")
endif()

# The system's settings, which dpkg does not replace once an administrator has changed them. A file whose name outlives
# the library's version does not belong into the library's package. Only for /usr, as packages are made: the path is
# absolute.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/isthmus.conf DESTINATION ${ISTHMUS_SYSCONFDIR} COMPONENT tools
    EXCLUDE_FROM_ALL)
  file(WRITE ${folder}/conffiles "${ISTHMUS_SYSCONFDIR}/isthmus.conf\n")
  set(CPACK_DEBIAN_TOOLS_PACKAGE_CONTROL_EXTRA ${folder}/conffiles)
endif()

# What programs that are linked with the library depend on. Not by cpack, which looks at each file, of thousands.
file(WRITE ${folder}/shlibs "libisthmus 0 ${library} (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${folder}/triggers ${folder}/shlibs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
foreach(package ${library} libisthmus-dev)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/${package}.lintian DESTINATION share/lintian/overrides RENAME ${package}
    COMPONENT ${package_component_${package}} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)

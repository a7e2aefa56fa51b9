# What `cmake --install` puts where: library, headers, licence and the packages that find_package() and pkg-config read.
# Plugins, tools and wrappers install themselves, in their own lists.
set(PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Isthmus)

install(TARGETS isthmus shmem nvshmem ishmem rocshmem EXPORT IsthmusTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_BINARY_DIR}/gen/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN *.h PATTERN *.hpp PATTERN *.cuh)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN *.h PATTERN *.hpp)

# Licence, and the kit for authors of transports: guide, findings of the checker, layout of the ABI, example, template.
set(DOC_DIR ${CMAKE_INSTALL_DATAROOTDIR}/doc/isthmus)
install(FILES LICENSE docs/writing-a-transport.md docs/findings.md docs/transport-abi-v1.tsv DESTINATION ${DOC_DIR})
install(FILES docs/transports/hook.md DESTINATION ${DOC_DIR}/transports)
install(DIRECTORY docs/examples/transport-tcp docs/examples/transport-template DESTINATION ${DOC_DIR}/examples)

install(EXPORT IsthmusTargets NAMESPACE Isthmus:: DESTINATION ${PACKAGE_DIR})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/IsthmusConfig.cmake.in
  ${CMAKE_BINARY_DIR}/gen/IsthmusConfig.cmake INSTALL_DESTINATION ${PACKAGE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/gen/IsthmusConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/gen/IsthmusConfig.cmake ${CMAKE_BINARY_DIR}/gen/IsthmusConfigVersion.cmake
  DESTINATION ${PACKAGE_DIR})

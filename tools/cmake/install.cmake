# What `cmake --install` puts where: library, headers, licence and the packages that find_package() and pkg-config read.
# Plugins, tools and wrappers install themselves, in their own lists. Components are the packages of tools/packaging.
set(PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Isthmus)

install(TARGETS isthmus shmem nvshmem ishmem rocshmem EXPORT IsthmusTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(DIRECTORY ${CMAKE_BINARY_DIR}/gen/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN *.h PATTERN *.hpp PATTERN *.cuh)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN *.h PATTERN *.hpp)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE TYPE DOC COMPONENT licence)

# The kit for authors of transports: guide, findings of the checker, layout of the ABI, example, template.
set(DOC_DIR ${CMAKE_INSTALL_DATAROOTDIR}/doc/isthmus)
install(FILES docs/writing-a-transport.md docs/completions.md docs/findings.md docs/transport-abi-v1.tsv
  DESTINATION ${DOC_DIR} COMPONENT development)
install(FILES docs/transports/hook.md DESTINATION ${DOC_DIR}/transports COMPONENT development)
install(DIRECTORY docs/examples/transport-tcp docs/examples/transport-template docs/examples/transport-ofi
  DESTINATION ${DOC_DIR}/examples COMPONENT development)
install(DIRECTORY plugins/ofi/ DESTINATION ${DOC_DIR}/examples/transport-ofi COMPONENT development
  FILES_MATCHING PATTERN *.c PATTERN *.h PATTERN *.def)

install(EXPORT IsthmusTargets NAMESPACE Isthmus:: DESTINATION ${PACKAGE_DIR} COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/IsthmusConfig.cmake.in
  ${CMAKE_BINARY_DIR}/gen/IsthmusConfig.cmake INSTALL_DESTINATION ${PACKAGE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/gen/IsthmusConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/gen/IsthmusConfig.cmake ${CMAKE_BINARY_DIR}/gen/IsthmusConfigVersion.cmake
  DESTINATION ${PACKAGE_DIR} COMPONENT development)

# What only a wheel has: the modules for Python, and the script that makes of the other components what wheels can hold.
install(FILES tools/python/isthmus/__init__.py tools/python/isthmus/__main__.py DESTINATION . COMPONENT python
  EXCLUDE_FROM_ALL)
install(SCRIPT tools/packaging/wheel.cmake COMPONENT python EXCLUDE_FROM_ALL)

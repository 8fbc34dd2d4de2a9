# tools/packaging/packages.cmake - what an installation holds beside the library, and the two packages that `cpack -G DEB` makes of
# the preset `package`: `unweave`, the program with its manual pages, completions and pages, and `libunweave-dev`, the library.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
install(TARGETS unweave)

# The program prints its own manual pages and completions. One that sanitizers slow down is not installed.
if(NOT UNWEAVE_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  set(share ${PROJECT_BINARY_DIR}/share)
  add_custom_command(TARGET unweave POST_BUILD COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:unweave> -D SHARE=${share}
                     -P ${CMAKE_CURRENT_LIST_DIR}/pages.cmake VERBATIM)
  install(DIRECTORY ${share}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(DIRECTORY ${share}/bash-completion ${share}/zsh ${share}/fish DESTINATION ${CMAKE_INSTALL_DATADIR})
endif()
install(FILES README.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# What Debian wants to find in /usr/share/doc of each package: the licence as "copyright", the changes, and those of the package.
# The time is that of the configuration, or SOURCE_DATE_EPOCH.
set(UNWEAVE_MAINTAINER "The Unweave authors <unweave@localhost>" CACHE STRING "Name and address that packages give as their maintainer")
set(debian_revision 1)
string(TIMESTAMP day "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(debian_folder ${PROJECT_BINARY_DIR}/debian)
configure_file(LICENSE ${debian_folder}/copyright COPYONLY)
configure_file(CHANGELOG.md ${debian_folder}/changelog COPYONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/changelog.Debian.in ${debian_folder}/changelog.Debian @ONLY)
foreach(file changelog changelog.Debian)
  execute_process(COMMAND gzip -9nf ${debian_folder}/${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(component_package program:unweave development:libunweave-dev)
  string(REPLACE ":" ";" component_package ${component_package})
  list(GET component_package 0 component)
  list(GET component_package 1 package)
  install(FILES ${debian_folder}/copyright ${debian_folder}/changelog.gz ${debian_folder}/changelog.Debian.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/lintian-overrides.in ${debian_folder}/overrides/${package} @ONLY)
  install(FILES ${debian_folder}/overrides/${package} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides COMPONENT ${component})
endforeach()

set(CPACK_PACKAGE_NAME unweave)
set(CPACK_PACKAGE_VENDOR "The Unweave authors")
set(CPACK_PACKAGE_CONTACT "${UNWEAVE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "out-of-core graph propagation and certified unlearning")
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_STRIP_FILES ON)
# As dh_fixperms has them, whatever the umask of the build was.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${debian_revision})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME unweave)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "Unweave keeps a graph with the features and labels of its nodes in a folder,
computes feature propagations of it within a budget of memory, trains models
on them, and removes nodes, edges and features from all of these, with
certificates that rest on theorems.
.
This package has the program, its manual pages and completions of shells.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libunweave-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libarchive-dev, libblis-serial-dev, libhwy-dev, libsodium-dev, libsvm-dev, libtbb-dev, libxxhash-dev, libzstd-dev, zlib1g-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "Unweave keeps a graph with the features and labels of its nodes in a folder,
computes feature propagations of it within a budget of memory, trains models
on them, and removes nodes, edges and features from all of these, with
certificates that rest on theorems.
.
This package has the static library, its headers, and descriptions of it for
CMake and pkg-config.")
if(PROJECT_IS_TOP_LEVEL)
  include(CPack)
endif()

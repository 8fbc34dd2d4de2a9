# algorithms/api/install_headers.cmake - installs the headers of algorithms/api/unweave, and of lower layers what they include.
#
# A part of `cmake --install`, which sets SOURCES and INCLUDES, the folder of headers, absolute or below the prefix. The public
# headers come to INCLUDES/unweave, the others to INCLUDES/unweave/layers, as they are: programs are compiled with both INCLUDES and
# INCLUDES/unweave/layers. None includes a third party's header: a program that uses the library compiles with the standard library
# alone.
cmake_minimum_required(VERSION 3.25)

cmake_path(ABSOLUTE_PATH INCLUDES BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE target)
file(GLOB pending RELATIVE ${SOURCES}/algorithms/api ${SOURCES}/algorithms/api/unweave/*.h
     ${SOURCES}/algorithms/api/unweave/fields/*.h)
set(seen ${pending})
while(pending)
  list(POP_FRONT pending header)
  if(header MATCHES "^unweave/")
    set(source ${SOURCES}/algorithms/api/${header})
    set(path ${header})
  else()
    set(source ${SOURCES}/${header})
    set(path unweave/layers/${header})
  endif()
  file(STRINGS ${source} lines REGEX "^#include")
  foreach(line IN LISTS lines)
    if(line MATCHES "\"([^\"]+)\"")
      if(NOT CMAKE_MATCH_1 IN_LIST seen)
        list(APPEND seen ${CMAKE_MATCH_1})
        list(APPEND pending ${CMAKE_MATCH_1})
      endif()
    elseif(line MATCHES "<([^>]*[/.][^>]*)>" AND NOT CMAKE_MATCH_1 MATCHES "^sys/")
      message(FATAL_ERROR "${header} is installed, and includes <${CMAKE_MATCH_1}>, which users may not have")
    endif()
  endforeach()
  cmake_path(GET path PARENT_PATH folder)
  file(INSTALL ${source} DESTINATION ${target}/${folder})
endwhile()

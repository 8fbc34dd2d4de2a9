# tests/thin_commands_test.cmake - a command is a client of the library like any other: of the layers below it includes the headers of
# algorithms/api/unweave, and what reads and writes files of users.
#
#   cmake -D ROOT=<sources> -P tests/thin_commands_test.cmake
cmake_minimum_required(VERSION 3.25)

set(allowed "^(unweave|tools|storage/(io|input|npy))/")

set(violations "")
file(GLOB files RELATIVE ${ROOT} ${ROOT}/tools/commands/*.h ${ROOT}/tools/commands/*.cpp)
if(NOT files)
  message(FATAL_ERROR "there are no commands below ${ROOT}")
endif()
foreach(file IN LISTS files)
  file(STRINGS ${ROOT}/${file} lines REGEX "^#include \"")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "\"([^\"]+)\"" quoted ${line})
    if(NOT CMAKE_MATCH_1 MATCHES "${allowed}")
      string(APPEND violations "  ${file}: ${CMAKE_MATCH_1}\n")
    endif()
  endforeach()
endforeach()
if(violations)
  message(FATAL_ERROR "commands that reach behind the library:\n${violations}")
endif()

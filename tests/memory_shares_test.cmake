# tests/memory_shares_test.cmake - parts of the memory budget have names in engine/resources/memory_shares.h: no other file below tools
# divides what a budget has available, or its limit, by a number.
#
#   cmake -D ROOT=<sources> -P tests/memory_shares_test.cmake
cmake_minimum_required(VERSION 3.25)

set(violations "")
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/storage/*.h ${ROOT}/storage/*.cpp ${ROOT}/engine/*.h ${ROOT}/engine/*.cpp
     ${ROOT}/algorithms/*.h ${ROOT}/algorithms/*.cpp)
foreach(file IN LISTS files)
  file(STRINGS ${ROOT}/${file} lines REGEX "(available|limit)\\(\\)\\)* *(/ *[0-9(]|\\* *[0-9]*\\.|>>)")
  foreach(line IN LISTS lines)
    string(STRIP "${line}" line)
    if(NOT line MATCHES "^//")
      string(APPEND violations "  ${file}: ${line}\n")
    endif()
  endforeach()
endforeach()
if(violations)
  message(FATAL_ERROR "parts of the budget that have no name in engine/resources/memory_shares.h:\n${violations}")
endif()

# tests/file_length_test.cmake - no source file is longer than 450 lines: split it by reason to change.
#
#   cmake -D ROOT=<sources> -P tests/file_length_test.cmake
cmake_minimum_required(VERSION 3.25)

set(most_lines 450)
set(violations "")
foreach(folder storage engine algorithms tools tests)
  file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.py
       ${ROOT}/${folder}/*.cmake)
  foreach(file IN LISTS files)
    file(READ ${ROOT}/${file} text)
    string(REGEX REPLACE "[^\n]" "" line_ends "${text}")
    string(LENGTH "${line_ends}" lines)
    if(lines GREATER most_lines)
      string(APPEND violations "  ${file}: ${lines} lines\n")
    endif()
  endforeach()
endforeach()
if(violations)
  message(FATAL_ERROR "files above ${most_lines} lines:\n${violations}")
endif()

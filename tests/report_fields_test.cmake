# tests/report_fields_test.cmake - every field of a report (algorithms/api/unweave/fields) stands in tools/guide/reference/outputs.md.
#
#   cmake -D ROOT=<sources> -P tests/report_fields_test.cmake
cmake_minimum_required(VERSION 3.25)

set(page tools/guide/reference/outputs.md)
set(text "")
if(EXISTS ${ROOT}/${page})
  file(READ ${ROOT}/${page} text)
endif()

set(violations "")
file(GLOB files RELATIVE ${ROOT} ${ROOT}/algorithms/api/unweave/fields/*.h)
if(NOT files)
  message(FATAL_ERROR "there are no fields of reports below ${ROOT}")
endif()
foreach(file IN LISTS files)
  file(STRINGS ${ROOT}/${file} lines REGEX "[a-z]\\(\"[a-z_0-9]+\",")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "[a-z]\\(\"([a-z_0-9]+)\"," call "${line}")
    string(FIND "${text}" "`${CMAKE_MATCH_1}`" at)
    if(at EQUAL -1)
      string(APPEND violations "  ${file}: ${CMAKE_MATCH_1}\n")
    endif()
  endforeach()
endforeach()
if(violations)
  message(FATAL_ERROR "fields of reports that ${page} does not name:\n${violations}")
endif()

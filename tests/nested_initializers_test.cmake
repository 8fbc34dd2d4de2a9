# tests/nested_initializers_test.cmake - an aggregate within an aggregate names its type, where an initializer behind it calls a function.
#
#   cmake -D ROOT=<sources> -P tests/nested_initializers_test.cmake
#
# g++ 12 destroys the inner one twice where that function throws: `Outer x{{a, b}, f()}` is a crash in place of an error, and
# `Outer x{Inner{a, b}, f()}` is not. The rule looks at an inner one that comes first and holds one pair of braces at most.
cmake_minimum_required(VERSION 3.25)

set(violations "")
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/storage/*.h ${ROOT}/storage/*.cpp ${ROOT}/engine/*.h ${ROOT}/engine/*.cpp
     ${ROOT}/algorithms/*.h ${ROOT}/algorithms/*.cpp ${ROOT}/tools/*.h ${ROOT}/tools/*.cpp)
foreach(file IN LISTS files)
  file(READ ${ROOT}/${file} text)
  if("${text}" MATCHES "[^{]{{[^{};]+({[^{};]*}[^{};]*)?},[^{};]*[A-Za-z_>][(][^{};]*")
    string(REGEX REPLACE "[\n ]+" " " found "${CMAKE_MATCH_0}")
    string(APPEND violations "  ${file}: ${found}\n")
  endif()
endforeach()
if(violations)
  message(FATAL_ERROR "nested initializers without a type, before one that may throw:\n${violations}")
endif()

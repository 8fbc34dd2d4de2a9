# tests/solver_names_test.cmake - no product file outside a solver's folder knows the solver's name.
#
#   cmake -D ROOT=<sources> -P tests/solver_names_test.cmake
#
# A name that is something else there too is let pass by what stands around it: a step of work that is watched, an option of
# a command (`import --replay`), a member of models of earlier programs, a parameter, a term or a field of a report.
cmake_minimum_required(VERSION 3.25)

set(passing "option\\((line, )?\"replay\"\\)|WatchedStep|po::|get<bool>|json\\.(at|contains)\\(|\\{\"|add[<(]|count\\(|field\\(")

set(names "")
file(GLOB_RECURSE entries RELATIVE ${ROOT} ${ROOT}/algorithms/solvers/*.cpp)
foreach(file IN LISTS entries)
  file(STRINGS ${ROOT}/${file} lines REGEX "^ *\\.name = \"")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "\"([^\"]+)\"" literal ${line})
    list(APPEND names ${CMAKE_MATCH_1})
    cmake_path(GET file PARENT_PATH folder_of_${CMAKE_MATCH_1})
  endforeach()
endforeach()
if(NOT names)
  message(FATAL_ERROR "algorithms/solvers: no file there names a solver")
endif()
list(JOIN names "|" any)

set(violations "")
foreach(layer storage engine algorithms tools)
  file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${layer}/*.h ${ROOT}/${layer}/*.cpp)
  foreach(file IN LISTS files)
    file(STRINGS ${ROOT}/${file} lines REGEX "\"(${any})\"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "//.*" "" code "${line}")
      if(NOT code MATCHES "\"(${any})\"")
        continue()
      endif()
      set(own ${folder_of_${CMAKE_MATCH_1}})
      if(NOT file MATCHES "^${own}/" AND NOT code MATCHES "${passing}")
        string(APPEND violations "  ${file}: ${code}\n")
      endif()
    endforeach()
  endforeach()
endforeach()
if(violations)
  message(FATAL_ERROR "names of solvers outside their folders:\n${violations}")
endif()

# tests/comments_test.cmake - every source opens with its path and its purpose, and no sentence of a comment begins with "Of", "None",
# "So far", "That for" or "The same": such a sentence has no subject, or leans on a line that a reader may not have seen.
#
#   cmake -D ROOT=<sources> -P tests/comments_test.cmake
#
# What stands behind code on its line may begin in lower case; it is held to the rule all the same.
cmake_minimum_required(VERSION 3.25)

set(words "(Of|None|So far|That for|The same)([^a-zA-Z]|$)")
set(opening "//[/!]?<?[ *-]*[(\"]*${words}")
set(later "[.:!?][)\"]* +[(\"]*${words}")
set(behind "//[/!]?<? *(of|none|the same)([^a-zA-Z_(]|$)")

set(violations "")
foreach(layer storage engine algorithms tools tests)
  file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${layer}/*.h ${ROOT}/${layer}/*.cpp)
  foreach(file IN LISTS files)
    file(READ ${ROOT}/${file} text)
    string(FIND "${text}" "// ${file} - " at)
    if(NOT at EQUAL 0)
      string(APPEND violations "  ${file}:1: does not open with \"// ${file} - \" and its purpose\n")
    endif()
    if(NOT text MATCHES "${opening}|//[^\n]*${later}|${behind}")
      continue()
    endif()
    # Escapes, raw strings, brackets and semicolons mean nothing to this rule, and would end texts or lines of a list. The lines of
    # a raw string keep their number.
    string(REGEX REPLACE "\\\\[^\n]|'\"'" "_" text "${text}")
    string(REGEX REPLACE "[][;\\]" " " text "${text}")
    string(REGEX MATCHALL "R\"[a-zA-Z]*\\(([^)]|\\)+[^)\"])*\\)+[a-zA-Z]*\"" raws "${text}")
    foreach(raw IN LISTS raws)
      string(REGEX REPLACE "[^\n]+" "_" lines "${raw}")
      string(REPLACE "${raw}" "${lines}" text "${text}")
    endforeach()
    string(REPLACE "\n" ";" lines "${text}")
    set(number 0)
    foreach(line IN LISTS lines)
      math(EXPR number "${number} + 1")
      # The code of a line ends where a comment begins outside a text.
      string(REGEX MATCH "^ ([^\"/]|/[^/]|\"[^\"]*\")*" code " ${line}")
      string(LENGTH "${code}" length)
      string(SUBSTRING " ${line}" ${length} -1 comment)
      if(comment MATCHES "^${opening}|^//.*${later}" OR (comment MATCHES "^${behind}" AND NOT code MATCHES "^ *$"))
        string(APPEND violations "  ${file}:${number}: ${comment}\n")
      endif()
    endforeach()
  endforeach()
endforeach()
if(violations)
  message(FATAL_ERROR "comments that lack their path, their purpose or the subject of a sentence:\n${violations}")
endif()

# tests/no_flags_test.cmake - no text below tools writes an option or an operation as the command line has it.
#
#   cmake -D ROOT=<sources> -P tests/no_flags_test.cmake
#
# A message marks keys (storage/io/message.h), and tools shows them as flags and commands. The option --long is zstd's own: it
# is written in one way wherever that program is spoken of.
cmake_minimum_required(VERSION 3.25)

set(written "(^|[^-a-zA-Z0-9])--[a-z]|`unweave")

set(violations "")
foreach(layer storage engine algorithms)
  file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${layer}/*.h ${ROOT}/${layer}/*.cpp)
  foreach(file IN LISTS files)
    file(READ ${ROOT}/${file} text)
    if(NOT text MATCHES "${written}")
      continue()
    endif()
    # Brackets, semicolons and backslashes would mean something in a list of lines; none of them is part of a flag.
    string(REGEX REPLACE "\\\\[^\n]|'\"'" "_" text "${text}")
    string(REGEX REPLACE "[][;\\]" " " text "${text}")
    string(REPLACE "\n" ";" lines "${text}")
    foreach(line IN LISTS lines)
      if(NOT line MATCHES "${written}")
        continue()
      endif()
      # The code of a line ends where a comment begins outside a text.
      string(REGEX MATCH "^ ([^\"/]|/[^/]|\"[^\"]*\")*" code " ${line}")
      string(REGEX MATCHALL "\"[^\"]*\"" literals "${code}")
      foreach(literal IN LISTS literals)
        string(REPLACE " without --long" "" literal "${literal}")
        if(literal MATCHES "${written}")
          string(APPEND violations "  ${file}: ${literal}\n")
        endif()
      endforeach()
    endforeach()
  endforeach()
endforeach()
if(violations)
  message(FATAL_ERROR "flags or commands in texts below tools; mark their keys by option() or operation():\n${violations}")
endif()

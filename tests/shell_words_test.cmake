# tests/shell_words_test.cmake - what a message embeds in a command is one word of a shell: people copy such commands, and a store may be
# called `a; rm -r b #`.
#
#   cmake -D ROOT=<sources> -P tests/shell_words_test.cmake
#
# Behind the name of a command comes shell_word() (storage/io/shell_word.h), an option, or a text that stands in the source.
cmake_minimum_required(VERSION 3.25)

set(command "(operation[(]\"|unweave )[a-z]+ \" [+] [a-zA-Z_:]+")

set(violations "")
foreach(layer storage engine algorithms tools)
  file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${layer}/*.h ${ROOT}/${layer}/*.cpp)
  foreach(file IN LISTS files)
    file(READ ${ROOT}/${file} text)
    if(NOT text MATCHES "operation[(]|unweave ")
      continue()
    endif()
    string(REGEX REPLACE "//[^\n]*" "" text "${text}")
    string(REGEX REPLACE "[][;\\]" "_" text "${text}")
    string(REGEX REPLACE "[ \n]+" " " text "${text}")
    string(REGEX MATCHALL "${command}" found "${text}")
    foreach(one IN LISTS found)
      if(NOT one MATCHES "(shell_word|option|selecting)$")
        string(APPEND violations "  ${file}: ${one}\n")
      endif()
    endforeach()
  endforeach()
endforeach()
if(violations)
  message(FATAL_ERROR "commands with what is no word of a shell; put it through shell_word():\n${violations}")
endif()

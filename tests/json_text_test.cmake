# tests/json_text_test.cmake - JSON is written by text_of_json() of storage/io/json_text.h alone: the library's own functions throw
# for a text that is not UTF-8, in the middle of what its caller does, and let control characters through.
#
#   cmake -D ROOT=<sources> -P tests/json_text_test.cmake
cmake_minimum_required(VERSION 3.25)

set(violations "")
foreach(layer storage engine algorithms tools)
  file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${layer}/*.h ${ROOT}/${layer}/*.cpp)
  list(REMOVE_ITEM files storage/io/json_text.h)
  foreach(file IN LISTS files)
    file(STRINGS ${ROOT}/${file} lines REGEX "(\\.|->) *dump *\\(|nlohmann::to_string|<< *([a-zA-Z]+::)*([Jj]son|ordered_json)[ ({]|<< *json *[;<]")
    foreach(line IN LISTS lines)
      string(STRIP "${line}" line)
      if(NOT line MATCHES "^//")
        string(APPEND violations "  ${file}: ${line}\n")
      endif()
    endforeach()
  endforeach()
endforeach()
if(violations)
  message(FATAL_ERROR "JSON that is not written by text_of_json() of storage/io/json_text.h:\n${violations}")
endif()

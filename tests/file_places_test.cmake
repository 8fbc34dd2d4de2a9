# tests/file_places_test.cmake - files are changed, and files of a store looked at, through storage/io alone.
#
#   cmake -D ROOT=<sources> -P tests/file_places_test.cmake
#
# storage/io/entry.h follows no link, which the calls below do. Whoever reads files that a user names, or that the system has,
# may look at them by other means; nobody else may, and nobody may remove, rename or make anything.
cmake_minimum_required(VERSION 3.25)

set(library "(std::filesystem|fs)::")
set(changes "${library}(remove|rename|create_|copy|resize_file|permissions|last_write_time)"
            "(^|[^_a-zA-Z0-9:])::(unlink|rename|mkdir|rmdir|link|symlink|chmod|truncate|creat|mkstemp|mkostemp|mkdtemp|utimensat|futimens)(at)?\\("
            "(^|[^_a-zA-Z0-9])(std::)?(mkstemp|mkostemp|mkdtemp|nftw|tmpnam)\\("
            "std::(rename|remove)\\([^,]*path"
            "std::(ofstream|fstream)|fopen\\("
            "${library}(recursive_)?directory_(iterator|entry)|opendir\\(")
set(looks "${library}(exists|is_[a-z]+|file_size|status|symlink_status|space|canonical|weakly_canonical|read_symlink|equivalent|hard_link_count)"
          "(^|[^_a-zA-Z0-9:])::(open|openat|stat|lstat|fstatat|statvfs|access)\\("
          "std::ifstream")
set(of_users storage/input/ tools/ engine/ingest/import_identity.cpp engine/ingest/import_forecast.cpp
    engine/graph/node_count.cpp)
set(of_system engine/resources/machine.cpp engine/resources/machine_profile.cpp engine/resources/memory.cpp)
set(walks_of_users storage/input/ogb_files.cpp storage/input/typed_folder.cpp tools/examples/)

set(violations "")
foreach(layer storage engine algorithms tools)
  file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${layer}/*.h ${ROOT}/${layer}/*.cpp)
  foreach(file IN LISTS files)
    set(forbidden ${changes} ${looks})
    if(file MATCHES "^storage/io/")
      continue()
    endif()
    foreach(place IN LISTS of_users of_system)
      string(FIND ${file} ${place} at)
      if(at EQUAL 0)
        set(forbidden ${changes})
      endif()
    endforeach()
    foreach(place IN LISTS walks_of_users)
      string(FIND ${file} ${place} at)
      if(at EQUAL 0)
        set(forbidden "")
      endif()
    endforeach()
    file(READ ${ROOT}/${file} text)
    string(REGEX REPLACE "//[^\n]*" "" text "${text}")
    foreach(call IN LISTS forbidden)
      if(text MATCHES "${call}")
        string(STRIP "${CMAKE_MATCH_0}" found)
        string(APPEND violations "  ${file}: ${found}\n")
      endif()
    endforeach()
  endforeach()
endforeach()
if(violations)
  message(FATAL_ERROR "calls that follow links; take those of storage/io/entry.h:\n${violations}")
endif()

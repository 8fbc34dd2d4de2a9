# tests/consumer_test.cmake - the library as others have it: installed, found by find_package() and by pkg-config, linked, run.
#
#   cmake -D BUILD=<build folder> -D SOURCES=<tests/consumer> -D SCRATCH=<folder> -D CONFIG=<build type> -D COMPILER=<c++> -P tests/consumer_test.cmake
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${result}\n${text}")
  endif()
  set(text "${text}" PARENT_SCOPE)
endfunction()

# A run must say that it came to its end.
function(run_consumer program folder)
  file(MAKE_DIRECTORY ${folder})
  run(${program} ${folder})
  if(NOT text MATCHES "all checks hold")
    message(FATAL_ERROR "${program} says:\n${text}")
  endif()
  message(STATUS "${text}")
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
set(prefix ${SCRATCH}/installed)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

# What users read is small: public headers stand on plain structs, and none lets the machinery of an import or a sweep in.
file(GLOB_RECURSE layers RELATIVE ${prefix}/include/unweave/layers ${prefix}/include/unweave/layers/*.h)
list(LENGTH layers count)
if(count EQUAL 0 OR count GREATER 53)
  message(FATAL_ERROR "public headers reach ${count} headers of lower layers; split plain structs from what pulls the others in")
endif()
set(machinery ${layers})
list(FILTER machinery INCLUDE REGEX "^(engine/(sweep|ingest|state|generations)|storage/(codec|formats))/")
if(machinery)
  list(JOIN machinery "\n  " machinery)
  message(FATAL_ERROR "public headers reach machinery:\n  ${machinery}")
endif()

# Neither the program's own sources nor its build folder may be needed: they are not named below.
run(${CMAKE_COMMAND} -S ${SOURCES} -B ${SCRATCH}/build -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_BUILD_TYPE=${CONFIG}
    -D CMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run_consumer(${SCRATCH}/build/consumer ${SCRATCH}/cmake)

file(GLOB_RECURSE description ${prefix}/*/unweave.pc)
cmake_path(GET description PARENT_PATH folder)
set(ENV{PKG_CONFIG_PATH} ${folder})
run(pkg-config --cflags --libs unweave)
string(STRIP "${text}" flags)
separate_arguments(flags UNIX_COMMAND "${flags}")
run(${COMPILER} -std=c++20 ${SOURCES}/main.cpp -o ${SCRATCH}/packaged ${flags})
run_consumer(${SCRATCH}/packaged ${SCRATCH}/pkg-config)

# The program is there too, and nothing else is to be run.
file(GLOB programs ${prefix}/bin/*)
if(NOT programs STREQUAL "${prefix}/bin/unweave")
  message(FATAL_ERROR "programs that were installed: ${programs}")
endif()

# Its manual pages and completions are those that it prints, one page a command.
run(${prefix}/bin/unweave help)
string(REGEX REPLACE ".*\nCommands:(\n.*)\n\nExit codes:.*" "\\1" commands "${text}")
string(REGEX MATCHALL "\n  [a-z]+" commands "${commands}")
list(LENGTH commands wanted)
file(GLOB pages ${prefix}/share/man/man1/unweave-*.1.gz)
list(LENGTH pages found)
if(NOT found EQUAL wanted OR NOT EXISTS ${prefix}/share/man/man1/unweave.1.gz)
  message(FATAL_ERROR "manual pages of ${wanted} commands: ${found}")
endif()
run(${prefix}/bin/unweave help --completion bash)
file(READ ${prefix}/share/bash-completion/completions/unweave completion)
if(NOT completion STREQUAL text)
  message(FATAL_ERROR "the completion of bash is not what the program prints")
endif()
foreach(file zsh/vendor-completions/_unweave fish/vendor_completions.d/unweave.fish)
  if(NOT EXISTS ${prefix}/share/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()

# A package is made below a folder that is not its own.
set(ENV{DESTDIR} ${SCRATCH}/package)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix /usr)
foreach(file bin/unweave include/unweave/unweave.h include/unweave/layers/storage/io/error.h)
  if(NOT EXISTS ${SCRATCH}/package/usr/${file})
    message(FATAL_ERROR "${file} is not in the package")
  endif()
endforeach()

# tools/packaging/pages.cmake - the manual pages and completions that an installation holds, as the program prints them.
#
#   cmake -D PROGRAM=<unweave> -D SHARE=<folder> -P tools/packaging/pages.cmake
#
# SHARE is laid out like /usr/share. The build calls this each time it has linked the program.
cmake_minimum_required(VERSION 3.25)

function(printed variable)
  execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

function(write_page name)
  printed(text help --man ${ARGN})
  file(WRITE ${SHARE}/man/man1/${name}.1 "${text}")
  # Without name and time, so that equal pages are equal files.
  execute_process(COMMAND gzip -9nf ${SHARE}/man/man1/${name}.1 COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${SHARE}/man)
write_page(unweave)
printed(overview help)
string(REGEX REPLACE ".*\nCommands:(\n.*)\n\nExit codes:.*" "\\1" commands "${overview}")
string(REGEX MATCHALL "\n  [a-z]+" commands "${commands}")
foreach(command IN LISTS commands)
  string(STRIP "${command}" command)
  write_page(unweave-${command} ${command})
endforeach()

set(bash bash-completion/completions/unweave)
set(zsh zsh/vendor-completions/_unweave)
set(fish fish/vendor_completions.d/unweave.fish)
foreach(shell bash zsh fish)
  printed(text help --completion ${shell})
  file(WRITE ${SHARE}/${${shell}} "${text}")
endforeach()

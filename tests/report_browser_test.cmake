# tests/report_browser_test.cmake - a page of `report` about a real run opens in Chromium, offline and without an error on its console, and
# at two widths nothing sticks out, charts have the width of the page, and axe finds nothing (devtools.py).
#
#   cmake -D UNWEAVE=<program> -D SCRATCH=<folder> -P tests/report_browser_test.cmake
#
# A copy of the page that names an image proves that an error would be seen: the page's own policy forbids to fetch it.
cmake_minimum_required(VERSION 3.25)

find_program(CHROMIUM chromium REQUIRED)
set(store ${SCRATCH}/demo.store)
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})

# Runs one command of the program, and appends what it prints to the lines of the run.
function(unweave)
  execute_process(COMMAND ${UNWEAVE} ${ARGN} OUTPUT_VARIABLE lines ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
  file(APPEND ${SCRATCH}/run.jsonl "${lines}")
endfunction()

# What Chromium makes of a page, as `dom`, and what its console says, as `said`.
function(open_page page)
  execute_process(COMMAND ${CHROMIUM} --headless --no-sandbox --disable-gpu --user-data-dir=${SCRATCH}/profile
                          "--host-resolver-rules=MAP * ~NOTFOUND" --enable-logging=stderr --dump-dom
                          --screenshot=${SCRATCH}/page.png file://${page}
                  OUTPUT_VARIABLE dom ERROR_VARIABLE said RESULT_VARIABLE code TIMEOUT 120)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "chromium ended with ${code}: ${said}")
  endif()
  set(dom "${dom}" PARENT_SCOPE)
  set(said "${said}" PARENT_SCOPE)
endfunction()

unweave(generate ${store} --model sbm --scale 8 --features 4 --classes 3 --edge-factor 3 --quiet)
unweave(propagate ${store} --quiet)
file(REMOVE ${SCRATCH}/run.jsonl)
unweave(train ${store} --solver newton --json --quiet)
unweave(train ${store} --solver exact --json --quiet)
file(WRITE ${SCRATCH}/requests "node 5 id=T5\nnode 6 id=T6\nedge 1 2 id=<b>\nnode 9 id=T9\n")
unweave(stream ${store} --requests ${SCRATCH}/requests --batch 2 --solver newton --solver exact --json --quiet)
unweave(evaluate ${store} --solver newton --retrain --json --quiet)
unweave(audit ${store} --solver newton --canary hub --trials 16 --json --quiet)
unweave(verify ${store} --json --quiet)
execute_process(COMMAND ${UNWEAVE} report ${store} ${SCRATCH}/run.jsonl --out ${SCRATCH}/page.html OUTPUT_QUIET
                COMMAND_ERROR_IS_FATAL ANY)

open_page(${SCRATCH}/page.html)
if(said MATCHES "CONSOLE[^\n]*")
  message(FATAL_ERROR "the console says: ${CMAKE_MATCH_0}")
endif()
foreach(part "Unlearning report: demo.store" "id=\"trade-off-title\"" "Not purged yet: " "Accuracy by batch: exact" "<code>T9</code>" "What this page does not show" "</footer>")
  string(FIND "${dom}" "${part}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "Chromium's document lacks ${part}")
  endif()
endforeach()

execute_process(COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_LIST_DIR}/devtools.py ${CHROMIUM} ${SCRATCH} file://${SCRATCH}/page.html
                COMMAND_ERROR_IS_FATAL ANY)

file(READ ${SCRATCH}/page.html page)
string(REPLACE "<main>" "<main><img alt=\"\" src=\"page.png\">" page "${page}")
file(WRITE ${SCRATCH}/broken.html "${page}")
open_page(${SCRATCH}/broken.html)
if(NOT said MATCHES "CONSOLE")
  message(FATAL_ERROR "a page that breaks its own policy goes unnoticed, so that nothing above was proved")
endif()

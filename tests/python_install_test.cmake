# tests/python_install_test.cmake - `pip wheel tools/python` against an installed library, offline, the wheel in an environment of its own,
# a program that uses what was installed, and what is said where Python lacks the package wheel.
#
#   cmake -D BUILD=<build> -D SOURCES=<repository> -D SCRATCH=<dir> -D CONFIG=<configuration> -D PYTHON=<python3> -P tests/python_install_test.cmake
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output WORKING_DIRECTORY ${SCRATCH})
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${what} failed:\n${output}")
  endif()
  set(output ${output} PARENT_SCOPE)
endfunction()

run("The installation" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix --config ${CONFIG})
run("The environment" ${PYTHON} -m venv --system-site-packages environment)
run("pip wheel" ${CMAKE_COMMAND} -E env CMAKE_ARGS=-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix
    ${SCRATCH}/environment/bin/pip wheel --no-index --no-build-isolation --no-deps -w wheels ${SOURCES}/tools/python)
file(GLOB wheels ${SCRATCH}/wheels/unweave-*.whl)
list(LENGTH wheels count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "pip made ${count} wheels: ${wheels}")
endif()
# The library is in it: it goes with what it was built from.
file(REMOVE_RECURSE ${SCRATCH}/prefix)
run("pip install" ${SCRATCH}/environment/bin/pip install --no-index --no-deps ${wheels})
file(WRITE ${SCRATCH}/program.py [==[
import pathlib
import numpy as np
import unweave
assert "environment" in unweave.__file__, unweave.__file__
assert (pathlib.Path(unweave.__file__).parent / "py.typed").exists()
assert (pathlib.Path(unweave.__file__).parent / "_native.pyi").exists()
store = unweave.import_store("five.store", np.array([[0, 1, 2], [1, 2, 3]]), np.eye(4))
store.propagate(hops=2)
print(unweave.__version__, store.embeddings().shape)
]==])
run("The program" ${SCRATCH}/environment/bin/python program.py)
if(NOT output MATCHES "\\(4, 4\\)")
  message(FATAL_ERROR "the program printed ${output}")
endif()

# An environment of its own packages alone has no wheel, as other Pythons than Debian's: one line says so, and what helps.
run("The bare environment" ${PYTHON} -m venv bare)
execute_process(COMMAND ${SCRATCH}/bare/bin/pip wheel --no-index --no-build-isolation --no-deps -w nothing ${SOURCES}/tools/python
                RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output WORKING_DIRECTORY ${SCRATCH})
if(result EQUAL 0 OR NOT output MATCHES "unweave: [^\n]*bare/bin/python[^\n]* has neither the package wheel[^\n]*pip install wheel")
  message(FATAL_ERROR "without the package wheel pip said, with ${result}:\n${output}")
endif()

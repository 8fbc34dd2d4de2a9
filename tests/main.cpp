// tests/main.cpp - doctest's main, shared by the test executable of every layer.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

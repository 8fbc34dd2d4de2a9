// tests/support/skip.h - a case that cannot be tried here says so, and the program ends as one that
// ctest calls skipped.
#pragma once

#include <string_view>

namespace unweave::testing {

/// Prints "skipped: NAME OF THE CASE: WHY". Where all else passes, the program ends with 77
/// (tests/main.cpp). The caller leaves out what cannot be tried.
void skip(std::string_view why);

}  // namespace unweave::testing

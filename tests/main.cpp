// tests/main.cpp - the main function that the test executable of every layer has.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

int main(int argc, char** argv) {
  // Rates of this machine are not measured for each test, and the user's own stay as they are.
  ::setenv("UNWEAVE_CACHE", (std::filesystem::temp_directory_path() / "unweave-test-rates").c_str(), 0);
  doctest::Context context(argc, argv);
  return context.run();
}

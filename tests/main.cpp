// tests/main.cpp - the main function that the test executable of every layer has. A case that makes
// no assertion fails, unless it says that it was skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "support/skip.h"

namespace unweave::testing {
namespace {

constexpr int kSkipped = 77;  // as ctest knows it

const char* current_case = "";
bool case_skips = false, any_skips = false, any_is_empty = false;

/// Looks at what each case did.
class CaseWatch final : public doctest::IReporter {
 public:
  explicit CaseWatch(const doctest::ContextOptions& /*options*/) {}

  void test_case_start(const doctest::TestCaseData& one) override {
    current_case = one.m_name;
    case_skips = false;
  }
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    if (stats.numAssertsCurrentTest > 0 || case_skips) return;
    any_is_empty = true;
    std::cout << "failed: " << current_case << ": it asserts nothing" << std::endl;
  }
  void report_query(const doctest::QueryData& /*query*/) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& /*stats*/) override {}
  void test_case_reenter(const doctest::TestCaseData& /*one*/) override {}
  void test_case_exception(const doctest::TestCaseException& /*exception*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*subcase*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*assertion*/) override {}
  void log_message(const doctest::MessageData& /*message*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*one*/) override {}
};
REGISTER_LISTENER("case_watch", 1, CaseWatch);

}  // namespace

void skip(std::string_view why) {
  case_skips = any_skips = true;
  std::cout << "skipped: " << current_case << ": " << why << std::endl;
}

}  // namespace unweave::testing

int main(int argc, char** argv) {
  // Rates of this machine are not measured for each test, and the user's own stay as they are.
  ::setenv("UNWEAVE_CACHE", (std::filesystem::temp_directory_path() / "unweave-test-rates").c_str(), 0);
  doctest::Context context(argc, argv);
  const int code = context.run();
  if (code != 0) return code;
  if (unweave::testing::any_is_empty) return EXIT_FAILURE;
  return unweave::testing::any_skips ? unweave::testing::kSkipped : EXIT_SUCCESS;
}

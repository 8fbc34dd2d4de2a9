// tests/tools/help_test.cpp - what every command says of itself, and of a value that it does not know.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/program.h"

namespace unweave {
namespace {

using testing::Result;
using testing::run;

void check_refused(const std::vector<std::string>& words, const std::string& part) {
  const Result result = run(words);
  CAPTURE(result.error);
  CHECK(result.code == 1);
  CHECK(result.error.find(part) != std::string::npos);
}

TEST_SUITE("unit") {
  TEST_CASE("a name out of a fixed list is refused with the list and the nearest") {
    const auto train = [](const std::string& option, const std::string& value) {
      return std::vector<std::string>{"train", "nowhere.store", option, value};
    };
    check_refused(train("--solver", "newtn"), "unknown solver \"newtn\" (did you mean 'newton'?); use newton, retrain");
    check_refused(train("--head", "svm"), "unknown head \"svm\"; use logistic, least-squares, softmax or mlp");
    check_refused(train("--head", "sotfmax"), "(did you mean 'softmax'?)");
    check_refused(train("--bound", "papre"), "unknown bound \"papre\" (did you mean 'paper'?); use corrected or paper");
    check_refused({"train", "nowhere.store", "--head", "mlp", "--activation", "tahn"}, "did you mean 'tanh'?");
    check_refused({"train", "nowhere.store", "--solver", "retrain", "--set", "epoch=3"},
                  "retrain has no parameter \"epoch\" (did you mean 'epochs'?); it has epochs, batch-rows");
    check_refused({"audit", "nowhere.store", "--canary", "gardient"}, "did you mean 'gradient'?");
    check_refused({"bench", "gahter"}, "did you mean 'gather'?");
    check_refused({"export", "nowhere.store", "--requests", "r", "--count", "1", "--draw", "nodes"},
                  "did you mean 'node'?");
  }
}

}  // namespace
}  // namespace unweave

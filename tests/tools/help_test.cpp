// tests/tools/help_test.cpp - what every command says of itself, and of a value that it does not know.
#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "algorithms/solver.h"
#include "support/program.h"
#include "tools/text_wrap.h"

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

/// Lines of a help text, each as wide as a terminal at most and without blanks at its end.
std::size_t check_lines(const std::string& text) {
  std::size_t lines = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line); ++lines) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
    CHECK_FALSE(line.ends_with(' '));
  }
  return lines;
}

TEST_SUITE("unit") {
  TEST_CASE("every help text fits a terminal") {
    check_lines(run({"--help"}).out);
    for (const Command& command : all_commands()) {
      const Result help = run({std::string(command.name), "--help"});
      CAPTURE(command.name);
      CHECK(help.code == 0);
      const std::size_t lines = check_lines(help.out);
      CHECK(lines > 10);
      if (command.name == "train") CHECK(lines < 40);
      if (command.name == "plan") CHECK(lines < 50);
    }
  }

  TEST_CASE("--help-solver says what each solver does and has, and nothing of the others") {
    for (const std::string_view name : solver_names()) {
      CAPTURE(name);
      const std::string solver(name);
      const Result help = run({"train", "--help-solver", solver});
      CHECK(help.code == 0);
      CHECK(check_lines(help.out) > 3);
      CHECK(help.out.starts_with("Solver " + solver + "\n\n"));
      CHECK(help.out.find("ertified") + help.out.find("othing is claimed") != 2 * std::string::npos);
      for (const Parameter& own : solver_parameters(name))
        CHECK_MESSAGE(help.out.find("\n  " + std::string(own.name) + " ") != std::string::npos, own.name);
      CHECK((help.out.find("--head mlp") != std::string::npos) ==
            (run({"train", "nowhere.store", "--solver", solver, "--head", "mlp"}).code == 2));
      CHECK(run({"plan", "--help-solver=" + solver}).out == help.out);
    }
    check_refused({"train", "--help-solver", "newtn"}, "(did you mean 'newton'?)");
    check_refused({"train", "nowhere.store", "--help-solver"}, "--help-solver");
    const std::string help = run({"train", "--help"}).out;
    CHECK(help.find("--help-solver NAME") != std::string::npos);
    CHECK(help.find("tune-epochs") == std::string::npos);
  }

  TEST_CASE("texts that are too wide are broken anew, tables in them are not") {
    CHECK(rewrapped("as it\nstands", 20) == "as it\nstands");
    CHECK(rewrapped("one two three four five\nsix. And\nseven.\n  a   table\nEight.", 20) ==
          "one two three four\nfive six. And seven.\n  a   table\nEight.");
    CHECK(wrapped("one two three", 9, 2) == "one two\n  three");
    CHECK(wrapped("longer-than-that one", 5) == "longer-than-that\none");
    CHECK(glossary({{"a", "first"}, {"long", "second"}}) == "  a     first\n  long  second\n");
  }

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

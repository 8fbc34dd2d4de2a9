// tests/tools/cli/help_test.cpp - what every command says of itself, and of a value that it does
// not know.
#include <doctest/doctest.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms/registry/registry.h"
#include "support/input_files.h"
#include "support/program.h"
#include "support/skip.h"
#include "support/temp_dir.h"
#include "tools/cli/output.h"
#include "tools/cli/text_wrap.h"

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
      if (command.name == "train") CHECK(lines < 50);
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
      const char* const kinds = solver_entry(name).linear.trained ? "inear models" : "Networks alone";
      CHECK(help.out.find(kinds) > solver.size() + 40);  // behind what it does
      for (const Parameter& own : solver_entry(name).parameters().listed())
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

  TEST_CASE("no model is wrong usage in every command that needs one") {
    const testing::TempDir dir;
    const std::string store = (dir / "a.store").string();
    REQUIRE(run({"generate", store, "--model", "sbm", "--scale", "6", "--features", "4", "--classes", "2"}).code == 0);
    REQUIRE(run({"propagate", store}).code == 0);
    const std::string requests = testing::write_file(dir / "requests", "edge 1 2\n").string();
    for (const auto& words : {std::vector<std::string>{"evaluate", store},
                              {"evaluate", store, "--solver", "newton"},
                              {"audit", store},
                              {"audit", store, "--solver", "newton"},
                              {"stream", store, "--requests", requests, "--solver", "newton"}}) {
      const Result result = run(words);
      CAPTURE(result.error);
      CHECK(result.code == 1);
      CHECK(result.error.find("unweave train " + store) != std::string::npos);
    }
    CHECK(run({"--help"}).out.find("no model yet") != std::string::npos);
  }

  TEST_CASE("a table fits a terminal: weights of many levels, models of many columns") {
    const testing::TempDir dir;
    const std::string store = (dir / "a.store").string();
    REQUIRE(run({"generate", store, "--model", "sbm", "--scale", "6", "--features", "4", "--classes", "2"}).code == 0);
    for (const std::string scheme : {"ppr:0.123456789", "chebyshev"}) {
      REQUIRE(run({"propagate", store, "--hops", "12", "--scheme", scheme}).code == 0);
      const std::string info = run({"info", store}).out;
      check_lines(info);
      CHECK(info.find(scheme == "chebyshev" ? "  169: " : "  13: ") != std::string::npos);
      CHECK(info.find("all with --json") != std::string::npos);
      CHECK(run({"info", store, "--json"}).json()["weights"].size() == (scheme == "chebyshev" ? 169 : 13));
    }
    REQUIRE(run({"propagate", store}).code == 0);
    CHECK(run({"info", store}).out.find("0, 0, 1\n") != std::string::npos);
    for (const std::string solver : {"newton", "retrain", "finetune"})
      REQUIRE(run({"train", store, "--solver", solver}).code == 0);
    check_lines(run({"evaluate", store, "--retrain", "--before", store, "--attack-rows", "0"}).out);
    check_lines(run({"plan", store}).out);
    check_lines(run({"plan", store, "--purge"}).out);
    check_lines(run({"verify", store}).out);
  }

  TEST_CASE("tables that are too wide are broken or turned") {
    std::ostringstream narrow, broken, turned;
    Table two({"name", ""});
    two.add_row({"weights", "1 2"});
    two.print(narrow);
    CHECK(narrow.str() == "name\nweights  1 2\n");
    two.add_row({"long", std::string(60, 'a') + ' ' + std::string(20, 'b')});
    two.print(broken);
    CHECK(broken.str().find("long     " + std::string(60, 'a') + "\n") != std::string::npos);
    Table many({"solver", std::string(40, 'x'), std::string(40, 'y')});
    for (const std::string name : {"p", "q"}) many.add_row({name, "1", "2"});
    many.print(turned);
    CHECK(turned.str() == "solver" + std::string(34, ' ') + "  p  q\n" + std::string(40, 'x') + "  1  1\n" +
                              std::string(40, 'y') + "  2  2\n");
  }

  TEST_CASE("a store that cannot be opened is told from one that is not there") {
    const testing::TempDir dir;
    const std::filesystem::path store = dir / "a.store";
    REQUIRE(run({"generate", store.string(), "--model", "sbm", "--scale", "6", "--classes", "2"}).code == 0);
    const std::string file = testing::write_file(dir / "edges.tsv", "0 1\n").string();
    const auto error_of = [](const std::string& path) { return run({"info", path}).error; };
    CHECK(error_of(file).find("edges.tsv: is a file, not a store") != std::string::npos);
    CHECK(error_of((dir / "none").string()).find("no store here (manifest.json is missing)") != std::string::npos);

    const std::filesystem::path manifest = store / "manifest.json";
    const std::string whole = testing::read_all(manifest);
    std::string later = whole;
    later.replace(later.find("\"version\": ") + 11, 2, "99");
    testing::write_file(manifest, later);
    const std::string refused = error_of(store.string());
    CHECK(refused.find("the store has version 99, this program reads version ") != std::string::npos);
    CHECK(refused.find("a later unweave wrote it: use that one") != std::string::npos);
    testing::write_file(manifest, whole);

    if (::geteuid() != 0) {
      std::filesystem::permissions(store, std::filesystem::perms::none);
      CHECK(error_of(store.string()).find("Permission denied") != std::string::npos);
      std::filesystem::permissions(store, std::filesystem::perms::owner_all);
      return;
    }
    // Root may open anything: another user looks.
    std::filesystem::permissions(dir.path(), std::filesystem::perms::all);
    std::filesystem::permissions(store, std::filesystem::perms::owner_all);
    const std::string said = (dir / "said").string();
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(9);
      std::ofstream(said) << error_of(store.string());
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 9) {
      testing::skip("a sandbox lets nobody become another user");
      return;
    }
    const std::string text = testing::read_all(said);
    CAPTURE(text);
    CHECK(text.find("Permission denied") != std::string::npos);
    CHECK(text.find("import") == std::string::npos);
  }

  TEST_CASE("files and folders that are not there are named as the user named them") {
    const testing::TempDir dir;
    const std::string store = (dir / "a.store").string();
    REQUIRE(run({"generate", store, "--model", "sbm", "--scale", "6", "--classes", "2"}).code == 0);
    REQUIRE(run({"propagate", store}).code == 0);
    const Result folder = run({"export", store, "--labels", (dir / "none" / "z.npy").string()});
    CHECK(folder.code == 2);
    CHECK(folder.error.find("none: there is no such folder") != std::string::npos);
    CHECK(folder.error.find(".new") == std::string::npos);
    REQUIRE(run({"train", store, "--solver", "newton"}).code == 0);
    const Result receipts = run({"verify", store + "/certificates/newton.jsonl", "--receipts", "nosuch"});
    CHECK(receipts.code == 1);
    CHECK(receipts.out.find("damaged") == std::string::npos);
    check_refused({"propagate", store, "--scheme", "ppr"}, "--scheme ppr needs its number: ppr:A");
    check_refused({"propagate", store, "--scheme", "sgd"}, "(did you mean 'sgc'?)");
    check_refused({"train", store, "--solver", "newton", "--set", "epochs=3"},
                  "newton has no parameters of its own; leave out --set epochs");
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
    check_refused(train("--solver", "newtn"),
                  "unknown solver \"newtn\" (did you mean 'newton'?); use exact, replay, newton, retrain");
    check_refused(train("--head", "svm"), "unknown head \"svm\"; use logistic, least-squares, softmax or mlp");
    check_refused(train("--head", "sotfmax"), "(did you mean 'softmax'?)");
    check_refused(train("--bound", "papre"), "unknown bound \"papre\" (did you mean 'paper'?); use corrected or paper");
    check_refused({"train", "nowhere.store", "--solver", "newton", "--head", "mlp", "--activation", "tahn"},
                  "did you mean 'tanh'?");
    check_refused({"train", "nowhere.store", "--solver", "retrain", "--set", "epoch=3"},
                  "retrain has no parameter \"epoch\" (did you mean 'epochs'?); it has epochs, batch-rows");
    check_refused({"audit", "nowhere.store", "--canary", "gardient"}, "did you mean 'gradient'?");
    check_refused({"export", "nowhere.store", "--requests", "r", "--count", "1", "--draw", "nodes"},
                  "did you mean 'node'?");
  }
}

}  // namespace
}  // namespace unweave

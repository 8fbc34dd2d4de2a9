// tests/tools/cli/command_test.cpp - exit codes, messages and the rules of the command line.
#include "tools/cli/command.h"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "engine/resources/memory.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/program.h"

namespace unweave {
namespace {

using testing::Result;

/// Prints what it was given, so that tests see what arrived.
void run_echo(CommandLine& line) {
  line.describe("Repeats its arguments.", {"STORE"}, "unweave echo demo");
  auto add = line.options().add_options();
  add("requests", po::value<std::string>()->value_name("F"), "where requests come from");
  add("batch", po::value<Count>()->value_name("N")->default_value({100}), "requests at once");
  add("lambda", po::value<Real>()->value_name("X")->default_value({1e-3}), "a number");
  add("weights", po::value<RealList>()->value_name("W")->default_value({{0, 0, 1}}), "several numbers");
  add("strict", po::bool_switch(), "a switch");
  if (!line.parse()) return;
  line.out() << line.positional(0) << " batch " << line.get<Count>("batch") << " given " << line.given("batch")
             << " lambda " << line.get<Real>("lambda") << " weights " << line.get<RealList>("weights") << " strict "
             << line.get<bool>("strict") << " requests "
             << (line.has("requests") ? line.get<std::string>("requests") : "none") << " threads "
             << line.common().threads << '/' << active_threads() << " memory " << line.common().memory_bytes << " json "
             << line.common().json << " quiet " << line.common().quiet << " seed "
             << (line.common().seed ? std::to_string(*line.common().seed) : "none") << '\n';
}

/// Fails in the way that its argument names.
void run_fail(CommandLine& line) {
  line.describe("Fails.", {"HOW"}, "unweave fail data");
  if (!line.parse()) return;
  const std::string& how = line.positional(0);
  if (how == "usage") throw UsageError("usage");
  if (how == "boost") throw po::error("boost");
  if (how == "data") throw DataError("two\nlines");
  if (how == "format") throw FormatError("s/manifest.json", "byte 8", "is wrong");
  if (how == "resource") throw ResourceError("resource");
  if (how == "check") throw CheckError("check");
  if (how == "memory") throw std::bad_alloc();
  for (const int code : {ENOSPC, EDQUOT, EMFILE, ENOENT})
    if (how == "file " + std::to_string(code))
      throw std::filesystem::filesystem_error("open", "s/shard", std::error_code(code, std::system_category()));
  if (how == "logic") throw std::logic_error("logic");
  if (how == "integer") throw 7;
  if (how == "output") line.out().setstate(std::ios::badbit);
}

constexpr Command kCommands[] = {{"echo", "repeats its arguments", run_echo}, {"fail", "fails as told", run_fail}};

Result run_words(const std::vector<std::string>& words) {
  return testing::run(words, kCommands);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Nothing on standard output, exactly one line on standard error, and the line says `part`.
void check_failure(const std::vector<std::string>& words, int code, const std::string& part) {
  const Result result = run_words(words);
  CAPTURE(words);
  CAPTURE(result.error);
  CHECK(result.code == code);
  CHECK(result.out.empty());
  CHECK(result.error.starts_with("unweave: "));
  CHECK(std::count(result.error.begin(), result.error.end(), '\n') == 1);
  CHECK(result.error.ends_with('\n'));
  CHECK(contains(result.error, part));
}

TEST_SUITE("unit") {
  TEST_CASE("each kind of failure has its exit code and one line") {
    CHECK(run_words({"fail", "nothing"}).code == 0);
    check_failure({"fail", "usage"}, 1, "usage");
    check_failure({"fail", "boost"}, 1, "boost");
    check_failure({"fail", "data"}, 2, "two\\x0Alines");
    check_failure({"fail", "format"}, 2, "s/manifest.json: byte 8: is wrong");
    check_failure({"fail", "resource"}, 3, "resource");
    check_failure({"fail", "memory"}, 3, "out of memory");
    check_failure({"fail", "logic"}, 3, "internal error: logic");
    check_failure({"fail", "integer"}, 3, "internal error");
    check_failure({"fail", "output"}, 3, "standard output");
    check_failure({"fail", "check"}, 4, "check");
    check_failure({"fail", "file " + std::to_string(ENOENT)}, 2, "s/shard: No such file");
    check_failure({"fail", "file " + std::to_string(ENOSPC)}, 3, "s/shard: No space left");
    check_failure({"fail", "file " + std::to_string(EDQUOT)}, 3, "s/shard: Disk quota");
    check_failure({"fail", "file " + std::to_string(EMFILE)}, 3, "s/shard: Too many open files");
  }

  TEST_CASE("a command is named in full and first") {
    check_failure({}, 1, "no command given");
    check_failure({"ech"}, 1, "unknown command 'ech'");
    check_failure({"--threads", "1", "echo", "s"}, 1, "a command must come first");
    check_failure({"--version", "echo"}, 1, "a command must come first");
    check_failure({"-x"}, 1, "a command must come first");
  }

  TEST_CASE("a mistyped command or option is told the nearest one") {
    check_failure({"ehco", "s"}, 1, "unknown command 'ehco' (did you mean 'echo'?); 'unweave --help'");
    check_failure({"Echo", "s"}, 1, "did you mean 'echo'?");
    check_failure({"hlep"}, 1, "did you mean 'help'?");
    check_failure({"--fail"}, 1, "a command must come first, not '--fail' (did you mean 'fail'?)");
    check_failure({"echo", "s", "--lamda", "1"}, 1, "'--lamda' (did you mean '--lambda'?); see 'unweave echo --help'");
    check_failure({"echo", "s", "--thraeds", "1"}, 1, "'--thraeds' (did you mean '--threads'?)");
    check_failure({"echo", "s", "-json"}, 1, "'-json' (did you mean '--json'?)");
    check_failure({"echo", "s", "--bat", "7"}, 1, "(did you mean '--batch'?)");
    for (const auto& words : {std::vector<std::string>{"xyz"}, {"echo", "s", "--nothing"}})
      CHECK_FALSE(contains(run_words(words).error, "did you mean"));
  }

  TEST_CASE("help and version are had by any of their names") {
    const std::string overview = run_words({"--help"}).out, of_echo = run_words({"echo", "--help"}).out;
    REQUIRE(contains(overview, "Commands:"));
    REQUIRE(contains(of_echo, "Usage: unweave echo STORE"));
    for (const auto& words : {std::vector<std::string>{"-h"}, {"help"}, {"help", "help"}, {"help", "--help"}}) {
      CHECK(run_words(words).code == 0);
      CHECK(run_words(words).out == overview);
    }
    for (const auto& words : {std::vector<std::string>{"echo", "-h"},
                              {"echo", "s", "--batch", "-h"},
                              {"help", "echo"},
                              {"--help", "echo"}}) {
      CHECK(run_words(words).code == 0);
      CHECK(run_words(words).out == of_echo);
    }
    CHECK(run_words({"version"}).out == run_words({"--version"}).out);
    CHECK(run_words({"version"}).out.starts_with("unweave "));
    check_failure({"help", "ecco"}, 1, "unknown command 'ecco' (did you mean 'echo'?)");
    check_failure({"help", "echo", "fail"}, 1, "takes one command");
    check_failure({"version", "echo"}, 1, "takes no arguments");
  }

  TEST_CASE("options stand anywhere, values may be '-' or negative") {
    const Result first =
        run_words({"echo", "--batch", "7", "--strict", "s", "--requests", "-", "--weights", "-1,0,2.5"});
    CHECK(first.code == 0);
    CHECK(contains(first.out, "s batch 7 given 1 lambda 0.001 weights -1,0,2.5 strict 1 requests -"));
    const Result last = run_words({"echo", "s", "--requests=-", "--lambda=-1e-4", "--weights", "0,-1,1", "--batch=7"});
    CHECK(last.code == 0);
    CHECK(contains(last.out, "s batch 7 given 1 lambda -0.0001 weights 0,-1,1 strict 0 requests -"));
  }

  TEST_CASE("defaults hold when nothing is said") {
    const Result result = run_words({"echo", "s"});
    CHECK(contains(result.out, "batch 100 given 0 lambda 0.001 weights 0,0,1 strict 0 requests none"));
    CHECK(contains(result.out, "memory " + std::to_string(default_memory_limit()) + " json 0 quiet 0 seed none"));
  }

  TEST_CASE("common options arrive, and --threads is in force while the command runs") {
    const Result result = run_words(
        {"echo", "--threads", "3", "s", "--memory", "8G", "--json", "--quiet", "--seed", "18446744073709551615"});
    CHECK(contains(result.out, "threads 3/3 memory 8589934592 json 1 quiet 1 seed 18446744073709551615"));
    CHECK(contains(run_words({"echo", "s", "--threads", "1"}).out, "threads 1/1"));
    const std::size_t all = [] {
      const ThreadLimit limit(0);
      return active_threads();
    }();
    CHECK(contains(run_words({"echo", "s"}).out, "threads 0/" + std::to_string(all)));
  }

  TEST_CASE("abbreviated, repeated, unknown and incomplete options are refused") {
    const std::string hint = "see 'unweave echo --help'";
    check_failure({"echo", "s", "--bat", "7"}, 1, "'--bat'");
    check_failure({"echo", "s", "--thread", "1"}, 1, "'--thread'");
    check_failure({"echo", "s", "--Batch", "7"}, 1, "'--Batch'");
    check_failure({"echo", "s", "--batch", "7", "--batch", "7"}, 1, "'--batch' is given more than once");
    check_failure({"echo", "s", "--requests", "a=1", "--requests", "b=2"}, 1,
                  "give it once, with commas: --requests a=1,b=2");
    check_failure({"echo", "s", "--json", "--json"}, 1, "'--json' is given more than once");
    check_failure({"echo", "s", "--nothing"}, 1, hint);
    check_failure({"echo", "s", "-b", "7"}, 1, "'-b'");
    check_failure({"echo", "s", "--strict=1"}, 1, hint);
    check_failure({"echo", "s", "--requests"}, 1, "'--requests'");
    check_failure({"echo", "s", "--requests", "--strict"}, 1, "'--requests'");
    check_failure({"echo", "s", "--requests", "--strickt"}, 1, "'--requests' needs a value, but '--strickt' follows");
  }

  TEST_CASE("values that do not fit are refused with option, value and remedy") {
    check_failure({"echo", "s", "--batch", "-1"}, 1, "'--batch' needs a whole number, 0 or more, not '-1'");
    check_failure({"echo", "s", "--batch", "ten"}, 1, "not 'ten'");
    check_failure({"echo", "s", "--batch="}, 1, "--batch");
    check_failure({"echo", "s", "--lambda", "nan"}, 1, "'--lambda' needs a finite number");
    check_failure({"echo", "s", "--weights", "1,,2"}, 1, "'--weights' needs numbers with commas");
    check_failure({"echo", "s", "--memory", "15M"}, 1, "at least 16M");
    check_failure({"echo", "s", "--memory", "8X"}, 1, "'--memory' needs a size above 0");
  }

  TEST_CASE("missing and surplus positional arguments are named") {
    check_failure({"echo"}, 1, "argument STORE is missing");
    check_failure({"echo", "--json"}, 1, "argument STORE is missing");
    check_failure({"echo", "s", "more"}, 1, "unexpected argument 'more'");
  }

  TEST_CASE("help goes to standard output with options, defaults and an example") {
    const Result overview = run_words({"--help"});
    CHECK(overview.code == 0);
    CHECK(overview.error.empty());
    CHECK(contains(overview.out, "echo  repeats its arguments"));
    for (const auto& words : {std::vector<std::string>{"echo", "--help"}, {"echo", "--nonsense", "--help", "a", "b"}}) {
      const Result help = run_words(words);
      CHECK(help.code == 0);
      CHECK(help.error.empty());
      for (const char* part :
           {"Usage: unweave echo STORE [options]", "Repeats its arguments.", "--batch N (=100)", "--lambda X (=0.001)",
            "--weights W (=0,0,1)", "--memory SIZE", "--threads N (=0)", "Example:\n  unweave echo demo"}) {
        CAPTURE(part);
        CHECK(contains(help.out, part));
      }
    }
  }

  TEST_CASE("the program itself obeys: version, unknown command") {
    const std::string program = UNWEAVE_BINARY;
    CHECK(std::system((program + " --version | grep -qx 'unweave [0-9.]*'").c_str()) == 0);
    const int status = std::system((program + " nothing 2> /dev/null").c_str());
    CHECK(WEXITSTATUS(status) == 1);
  }
}

}  // namespace
}  // namespace unweave

// tests/tools/cli/help_pages_test.cpp - manual pages and completions of shells have every command
// and every option, and the programs that read them take them, where they are there.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/input_files.h"
#include "support/program.h"
#include "support/skip.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::read_all;
using testing::run;
using testing::write_file;

std::string printed(const std::vector<std::string>& words) {
  const testing::Result result = run(words);
  CAPTURE(result.error);
  REQUIRE(result.code == 0);
  return result.out;
}

/// "--option" of every line of a help that describes one.
std::set<std::string> options_in_help(const std::string& command) {
  std::set<std::string> options;
  std::istringstream in(printed({command, "--help"}));
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("  --")) options.insert(line.substr(2, line.find_first_of(" \n", 2) - 2));
  return options;
}

/// As roff has them.
std::string without_escapes(std::string text) {
  for (std::size_t at = text.find("\\-"); at != std::string::npos; at = text.find("\\-", at)) text.erase(at, 1);
  return text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// False, and the case is skipped, where the program is not installed.
bool is_there(const std::string& program) {
  const bool found = std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
  if (!found) testing::skip("there is no " + program);
  return found;
}

/// Runs a script, which must go well, and returns what it prints, errors among it.
std::string output_of(const testing::TempDir& dir, const std::string& program, const std::string& script) {
  const std::string file = write_file(dir / "script", script).string(), out = (dir / "out").string();
  const int ended = std::system((program + " '" + file + "' > '" + out + "' 2>&1 < /dev/null").c_str());
  std::string text = read_all(out);
  CAPTURE(text);
  CHECK(WEXITSTATUS(ended) == 0);
  return text;
}

TEST_SUITE("unit") {
  TEST_CASE("manual pages and completions have every command and every option") {
    const std::string overview = printed({"help", "--man"});
    std::vector<std::string> scripts;
    for (const char* const shell : {"bash", "zsh", "fish"}) scripts.push_back(printed({"help", "--completion", shell}));
    for (const Command& command : all_commands()) {
      const std::string name(command.name);
      CAPTURE(name);
      const std::string page = printed({"help", "--man", name});
      CHECK(page.starts_with(".TH \"unweave\\-" + name + "\" 1 "));
      CHECK(has(page, "unweave\\-" + name + " \\- "));
      CHECK(has(overview, "\\fBunweave\\-" + name + "\\fR(1)\n"));
      const std::set<std::string> options = options_in_help(name);
      CHECK(options.size() > 5);
      for (const std::string& option : options) {
        CAPTURE(option);
        CHECK(has(without_escapes(page), "\n\\fB" + option + "\\fR"));
        CHECK((has(scripts[0], " " + option + " ") || has(scripts[0], "'" + option + " ")));
        CHECK((has(scripts[1], option + "[") || has(scripts[1], option + "=[")));
        CHECK(has(scripts[2], "_from " + name + "' -l " + option.substr(2) + " "));
      }
    }
    CHECK(has(overview, "\\fB130\\fR"));
  }

  TEST_CASE("words of help that are none are refused") {
    CHECK(run({"help", "--man", "improt"}).error.find("did you mean 'import'?") != std::string::npos);
    CHECK(run({"help", "--completion", "bsh"}).error.find("did you mean 'bash'?") != std::string::npos);
    for (const auto& words : {std::vector<std::string>{"help", "--completion"},
                              {"help", "--man", "info", "plan"},
                              {"help", "--completion", "bash", "zsh"}})
      CHECK(run(words).code == 1);
  }

  TEST_CASE("roff finds nothing to complain of in the manual pages") {
    if (!is_there("groff")) return;
    const testing::TempDir dir;
    std::vector<std::string> names{""};
    for (const Command& command : all_commands()) names.emplace_back(command.name);
    for (const std::string& name : names) {
      CAPTURE(name);
      const std::string page =
          write_file(dir / "page.1", printed(name.empty() ? std::vector<std::string>{"help", "--man"}
                                                          : std::vector<std::string>{"help", "--man", name}))
              .string();
      CHECK(output_of(dir, "sh", "groff -ww -k -man -Tutf8 -z '" + page + "'") == "");
    }
  }

  TEST_CASE("bash completes commands, options, fixed words and names of files") {
    if (!is_there("bash")) return;
    const testing::TempDir dir;
    const std::string script = printed({"help", "--completion", "bash"});
    write_file(dir / "my graph.store", "");
    const auto completed = [&](const std::string& words, int at) {
      return output_of(dir, "bash",
                       script + "\ncd '" + dir.path().string() + "'\nCOMP_WORDS=(" + words +
                           ")\nCOMP_CWORD=" + std::to_string(at) + "\n_unweave\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
    };
    CHECK(completed("unweave prop", 1) == "propagate\n");
    CHECK(completed("unweave p", 1) == "plan\npropagate\npredict\npurge\n");
    CHECK(completed("unweave propagate --sch", 2) == "--scheme\n");
    CHECK(completed("unweave plan a.store --eps", 3) == "--epsilon\n");  // which the help of plan does not list
    CHECK(completed("unweave train a.store --solver desc", 4) == "descent-to-delete\ndescend\n");
    CHECK(completed("unweave train a.store --solver = desc", 5) == "descent-to-delete\ndescend\n");
    CHECK(completed("unweave train a.store --solver =", 4).find("newton\n") != std::string::npos);
    CHECK(completed("unweave info my", 2) == "my graph.store\n");
    CHECK(completed("unweave stream a.store --requests my", 4) == "my graph.store\n");
    CHECK(completed("unweave stream a.store --threads ''", 4) == "\n");
    CHECK(completed("unweave help --completion z", 3) == "zsh\n");
    CHECK(completed("unweave help ver", 2) == "verify\nversion\n");
  }

  TEST_CASE("zsh and fish read their scripts") {
    const testing::TempDir dir;
    if (is_there("zsh")) CHECK(output_of(dir, "zsh -n", printed({"help", "--completion", "zsh"})) == "");
    if (!is_there("fish")) return;
    const std::string script = printed({"help", "--completion", "fish"});
    const auto completed = [&](const std::string& words) {
      return output_of(dir, "fish --no-config", script + "\ncomplete -C '" + words + "'\n");
    };
    CHECK(completed("unweave propa").starts_with("propagate\tcompute"));
    CHECK(completed("unweave propagate --sche").starts_with("--scheme\t"));
    CHECK(completed("unweave train a --solver langevin-").starts_with("langevin-full\t"));
  }
}

}  // namespace
}  // namespace unweave

// tests/tools/commands/documents_test.cpp - whatever command a text of the project shows runs as it is printed: the blocks and the
// inline commands of README.md, what quickstart names at its end, the examples of each --help. They run in a folder where
// the paths that they name hold a small graph with the shape of the real one.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/input_files.h"
#include "support/ogb_sample.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::read_all;
using testing::write_file;

const fs::path kSource = UNWEAVE_SOURCE_DIR;

/// What is not run here, by how it begins, and why.
const std::map<std::string, std::string> kNotRun{
    {"tools/quickstart", "installs packages, builds the program, runs the real graph"},
    {"tests/run", "installs packages, builds twice, runs all tests"},
    {"python3 -c 'import gzip", "reads the files of MNIST, which are not shipped; the block goes on with its result"},
};

/// A folder like that of a clone in which the program lies on the path, with a graph of 58 classes and 2,575 columns.
struct Clone {
  testing::TempDir dir;

  Clone() {
    fs::create_directories(dir / "bin");
    fs::create_directories(dir / "demo");
    fs::create_directories(dir / "tests/data/debian-deps");
    fs::create_symlink(UNWEAVE_BINARY, dir / "bin/unweave");
    fs::create_symlink(kSource / "tools", dir / "tools");
    constexpr int kNodes = 400, kClasses = 58, kColumns = 2575;
    std::mt19937 random(5);
    std::string edges;
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices, labels, splits[3];
    for (int u = 0; u < kNodes; ++u) {
      labels.push_back(u % kClasses);
      for (int k = 0; k < 4; ++k)
        edges += std::to_string(u) + "\t" + std::to_string((u + static_cast<int>(random() % 200) + 1) % kNodes) + "\n";
      for (const int column : std::set<int>{u % kClasses, 100 + u, 1000 + static_cast<int>(random() % 1500)})
        indices.push_back(column);
      indptr.push_back(static_cast<std::int64_t>(indices.size()));
      splits[u % 5 < 3 ? 0 : u % 5 - 2].push_back(u);
    }
    static_assert(1000 + 1500 < kColumns);
    const auto array = [&](const char* name, const std::string& bytes) {
      write_file(dir / "tests/data/debian-deps" / name, bytes);
    };
    const auto shape = [](const auto& values) { return "(" + std::to_string(values.size()) + ",)"; };
    array("edges.tsv.zst", testing::zstded(edges));
    array("feat_indptr.npy.zst", testing::zstded(testing::npy("<i8", shape(indptr), indptr)));
    array("feat_indices.npy.zst", testing::zstded(testing::npy("<i4", shape(indices), indices)));
    array("labels.npy", testing::npy("<i4", shape(labels), labels));
    const char* const names[] = {"train_idx.npy", "val_idx.npy", "test_idx.npy"};
    for (int i = 0; i < 3; ++i) array(names[i], testing::npy("<i4", shape(splits[i]), splits[i]));
  }

  /// Runs a text in this folder as a shell would, which must go well. Returns its standard output.
  std::string runs(const std::string& text) const {
    write_file(dir / "command.sh", "set -e\nPATH=\"$PWD/bin:$PATH\"\n" + text + "\n");
    const std::string folder = dir.path().string();
    const int ended = std::system(("cd '" + folder + "' && sh ./command.sh > out.txt 2> err.txt < /dev/null").c_str());
    CAPTURE(text);
    CAPTURE(read_all(dir / "err.txt"));
    CHECK(WEXITSTATUS(ended) == 0);
    return read_all(dir / "out.txt");
  }
};

std::vector<std::string> lines_of_text(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Lines that end in a backslash belong to the next, and one that gives a variable its value.
std::vector<std::string> joined(const std::vector<std::string>& lines) {
  std::vector<std::string> commands;
  bool open = false;
  for (const std::string& line : lines) {
    if (open)
      commands.back() += "\n" + line;
    else
      commands.push_back(line);
    open = line.ends_with("\\") || (line.find('=') != std::string::npos && line.find(' ') == std::string::npos);
  }
  return commands;
}

struct Block {
  std::string language;
  std::vector<std::string> lines;
};

std::vector<Block> blocks_of(const std::string& markdown) {
  std::vector<Block> blocks;
  bool inside = false;
  for (const std::string& line : lines_of_text(markdown)) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({line.substr(3), {}});
    } else if (inside) {
      blocks.back().lines.push_back(line);
    }
  }
  return blocks;
}

/// `code` within the prose.
std::vector<std::string> inline_code_of(const std::string& markdown) {
  std::string prose;
  bool inside = false;
  for (const std::string& line : lines_of_text(markdown)) {
    if (line.starts_with("```"))
      inside = !inside;
    else if (!inside)
      prose += line + " ";
  }
  std::vector<std::string> found;
  for (std::size_t from = prose.find('`'); from != std::string::npos; from = prose.find('`', from)) {
    const std::size_t to = prose.find('`', from + 1);
    if (to == std::string::npos) break;
    found.push_back(prose.substr(from + 1, to - from - 1));
    from = to + 1;
  }
  return found;
}

/// What a block has one type: in a console block after "$ ", with the lines that go on; else all lines.
std::vector<std::string> commands_of(const Block& block) {
  if (block.language != "console") return joined(block.lines);
  std::vector<std::string> commands;
  bool open = false;
  for (const std::string& line : block.lines) {
    if (line.starts_with("$ "))
      commands.push_back(line.substr(2));
    else if (open)
      commands.back() += "\n" + line;
    else
      continue;
    // A quoted program may go over several lines, too.
    const std::string& command = commands.back();
    open = command.ends_with("\\") || std::count(command.begin(), command.end(), '\'') % 2 == 1;
  }
  return commands;
}

std::string reason_not_to_run(const std::string& command, std::set<std::string>& used) {
  for (const auto& [begin, reason] : kNotRun)
    if (command.starts_with(begin)) {
      used.insert(begin);
      return reason;
    }
  return "";
}

/// The examples at the end of a help, one command each.
std::vector<std::string> examples_of(const Command& command) {
  std::vector<std::string> lines;
  bool inside = false;
  for (const std::string& line : lines_of_text(testing::run({std::string(command.name), "--help"}).out)) {
    if (inside && line.starts_with("  "))
      lines.push_back(line.substr(2));
    else
      inside = line.starts_with("Example");
  }
  return joined(lines);
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("README's commands and what quickstart names at its end run as printed") {
    const Clone clone;
    std::set<std::string> used;
    const std::string readme = read_all(kSource / "README.md");
    std::size_t ran = 0;
    for (const Block& block : blocks_of(readme)) {
      if (block.language.empty()) continue;  // drawings
      CAPTURE(block.language);
      CHECK((block.language == "sh" || block.language == "console"));
      bool goes_on = true;
      for (const std::string& command : commands_of(block)) {
        if (!reason_not_to_run(command, used).empty()) {
          goes_on = block.language == "sh";
        } else if (goes_on) {
          static_cast<void>(clone.runs(command));
          ++ran;
        }
      }
    }
    CHECK(ran >= 5);
    CHECK(used.size() == kNotRun.size());  // no command is listed for nothing

    std::size_t within = 0;
    for (const std::string& code : inline_code_of(readme))
      if (code.starts_with("unweave ") && code.find("demo/") != std::string::npos) {
        static_cast<void>(clone.runs(code));
        ++within;
      }
    CHECK(within >= 1);

    // The text at the end of the script, with what it has put in place of its variables. README has purged the store.
    static_cast<void>(clone.runs("unweave train demo/debian.store --solver newton"));
    const std::string script = read_all(kSource / "tools" / "quickstart");
    const std::size_t begin = script.find("cat << END\n");
    REQUIRE(begin != std::string::npos);
    const std::string text = clone.runs("unweave=unweave; store=demo/debian.store\n" + script.substr(begin));
    std::size_t named = 0;
    for (const std::string& line : lines_of_text(text))
      if (line.starts_with("  ")) {
        static_cast<void>(clone.runs(line.substr(2)));
        ++named;
      }
    CHECK(named >= 5);
  }

  TEST_CASE("the examples of each --help run as printed") {
    const Clone clone;
    testing::write_ogb_text(clone.dir / "dataset/ogbn_arxiv", {});
    // A store like quickstart's, but of few columns: the examples take it as it comes.
    write_file(clone.dir / "e", "0 1\n1 2\n2 3\n3 4\n12 34\n4 5\n5 0\n");
    std::string features, labels, train, test;
    for (int u = 0; u < 200; ++u) {
      features += u % 2 == 0 ? "1 0.25\n" : "0.25 1\n";
      labels += std::to_string(u % 2) + "\n";
      (u < 150 ? train : test) += std::to_string(u) + "\n";
    }
    write_file(clone.dir / "x", features);
    write_file(clone.dir / "y", labels);
    write_file(clone.dir / "train", train);
    write_file(clone.dir / "test", test);
    static_cast<void>(clone.runs(
        "unweave import kept.store --edges e --features x --nodes 200 --labels y --split train=train,test=test\n"
        "unweave propagate kept.store\n"
        "unweave train kept.store --solver newton\n"));
    for (const Command& command : all_commands()) {
      CAPTURE(command.name);
      const std::vector<std::string> examples = examples_of(command);
      CHECK_FALSE(examples.empty());
      for (const std::string& example : examples) {
        static_cast<void>(clone.runs("rm -rf demo && mkdir demo"));
        if (command.name != "import" && command.name != "generate")
          static_cast<void>(clone.runs("cp -r kept.store demo/debian.store && cp -r kept.store demo/copy.store"));
        static_cast<void>(clone.runs(example));
      }
    }
  }
}

}  // namespace unweave

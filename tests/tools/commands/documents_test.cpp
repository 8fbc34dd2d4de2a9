// tests/tools/commands/documents_test.cpp - whatever command a text of the project shows runs as it
// is printed: the blocks and the inline commands of README.md, the blocks of the guide's tutorial
// and of its how-to pages, what quickstart names at its end, the examples of each --help. They run
// in a folder where the paths that they name hold a small graph with the shape of the real one. The
// page of all commands is what the program prints.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
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

/// What is not run here, by how it begins, and why. Every entry is met by a page.
const std::map<std::string, std::string> kNotRun{
    {"tools/quickstart", "installs packages, builds the program, runs the real graph"},
    {"tests/run", "installs packages, builds twice, runs all tests"},
    {"tools/install-dependencies", "installs packages, and builds the program"},
    {"python3 -c 'import gzip", "reads the files of MNIST, which are not shipped; the block goes on with its result"},
    {"python3 -c 'from ogb", "fetches a data set; what it would fetch lies in the clone already"},
    {"unweave export demo/debian.store --requests demo/vulnerable.txt", "the small graph has fewer such edges"},
};

/// Languages of blocks that are run, and of those that are not.
const std::set<std::string> kRunLanguages{"console", "sh"};
const std::set<std::string> kOtherLanguages{"", "cpp", "json", "mermaid", "python", "text"};

/// A folder like that of a clone in which the program lies on the path, with a graph of 58 classes
/// and 2,575 columns, and a data set as OGB's package fetches it.
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
    testing::write_ogb_text(dir / "dataset/ogbn_arxiv", {});
  }

  /// Makes demo/debian.store as the tutorial has it before any removal: propagated, with a model.
  void make_store() const {
    static_cast<void>(runs(
        "D=tests/data/debian-deps\n"
        "unweave import demo/debian.store --edges $D/edges.tsv.zst --columns 2575 --classes 58 --labels $D/labels.npy \\\n"
        "  --features indptr=$D/feat_indptr.npy.zst,indices=$D/feat_indices.npy.zst \\\n"
        "  --split train=$D/train_idx.npy,valid=$D/val_idx.npy,test=$D/test_idx.npy\n"
        "unweave propagate demo/debian.store --hops 2 --weights 0,0,1\n"
        "unweave train demo/debian.store --solver exact\n"));
  }

  /// Runs a text in this folder as a shell would, which must go well. Returns its standard output.
  /// Debian's Python, which has NumPy, comes before any other.
  std::string runs(const std::string& text) const {
    write_file(dir / "command.sh", "set -e\nPATH=\"$PWD/bin:/usr/bin:$PATH\"\n" + text + "\n");
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

/// What a block has one type: in a console block after "$ ", with the lines that go on; else all
/// lines.
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

/// Whether a command does nothing but give a variable its value, for the commands after it.
bool sets_variable(const std::string& command) {
  const std::size_t equals = command.find('=');
  if (equals == 0 || equals == std::string::npos) return false;
  const auto is_of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (!std::all_of(command.begin(), command.begin() + static_cast<std::ptrdiff_t>(equals), is_of_name)) return false;
  char quote = '\0';
  for (const char c : command.substr(equals + 1)) {
    if (quote != '\0')
      quote = c == quote ? '\0' : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == ' ' || c == '\n')
      return false;
  }
  return true;
}

/// Runs the commands of a page from top to bottom, as far as they run here. Returns how many did.
std::size_t run_blocks(const Clone& clone, const std::string& markdown, std::set<std::string>& not_run) {
  std::size_t ran = 0;
  std::string variables;
  for (const Block& block : blocks_of(markdown)) {
    CAPTURE(block.language);
    CHECK((kRunLanguages.contains(block.language) || kOtherLanguages.contains(block.language)));
    if (!kRunLanguages.contains(block.language)) continue;
    bool goes_on = true;
    for (const std::string& command : commands_of(block)) {
      if (!reason_not_to_run(command, not_run).empty()) {
        goes_on = block.language == "sh";
      } else if (goes_on && sets_variable(command)) {
        variables += command + "\n";
      } else if (goes_on) {
        static_cast<void>(clone.runs(variables + command));
        ++ran;
      }
    }
  }
  return ran;
}

/// In the order of their names.
std::vector<fs::path> how_to_pages() {
  std::vector<fs::path> pages;
  for (const auto& entry : fs::directory_iterator(kSource / "tools/guide/how-to"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  std::sort(pages.begin(), pages.end());
  return pages;
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
  TEST_CASE("the commands of README, of the tutorial and of the how-to pages run as printed") {
    std::set<std::string> not_run;
    {
      const Clone clone;
      const std::string readme = read_all(kSource / "README.md");
      CHECK(run_blocks(clone, readme, not_run) >= 1);
      if (!fs::exists(clone.dir / "demo/debian.store")) clone.make_store();
      for (const std::string& code : inline_code_of(readme))
        if (code.starts_with("unweave ") && code.find("demo/") != std::string::npos)
          static_cast<void>(clone.runs(code));
    }
    {
      const Clone clone;
      CHECK(run_blocks(clone, read_all(kSource / "tools/guide/tutorial.md"), not_run) >= 10);
    }
    const Clone kept;
    kept.make_store();
    const std::vector<fs::path> pages = how_to_pages();
    CHECK(pages.size() >= 7);
    for (const fs::path& page : pages) {
      CAPTURE(page.filename().string());
      const Clone clone;
      fs::copy(kept.dir / "demo/debian.store", clone.dir / "demo/debian.store", fs::copy_options::recursive);
      CHECK(run_blocks(clone, read_all(page), not_run) >= 1);
    }
    for (const auto& entry : kNotRun) CHECK_MESSAGE(not_run.contains(entry.first), entry.first);
  }

  TEST_CASE("what quickstart names at its end runs as printed") {
    const Clone clone;
    clone.make_store();
    // The text at the end of the script, with what it has put in place of its variables.
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

  TEST_CASE("the page of all commands is what the program prints now") {
    const Clone clone;
    const std::string printed = clone.runs("python3 tools/scripts/command_reference.py unweave");
    const bool is_kept = printed == read_all(kSource / "tools/guide/reference/commands.md");
    CHECK_MESSAGE(
        is_kept,
        "a help text has changed; with this build on the PATH run: python3 tools/scripts/command_reference.py "
        "unweave > tools/guide/reference/commands.md");
  }

  TEST_CASE("the examples of each --help run as printed") {
    const Clone clone;
    // A store like quickstart's, but of few columns: the examples take it as it comes.
    write_file(clone.dir / "e", "0 1\n1 2\n2 3\n3 4\n12 34\n4 5\n5 0\n");
    std::string features, labels, train = "# nodes\n", test;
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

// tests/tools/commands/pages_test.cpp - every relative link of a page of the project leads to a
// file that is there, and to a heading of it where the link names one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::read_all;
using testing::write_file;

/// Folders whose pages are read, beside the pages at the top: the layers, and the tests.
constexpr const char* kPageFolders[] = {"storage", "engine", "algorithms", "tools", "tests"};

std::vector<fs::path> pages_below(const fs::path& top) {
  std::vector<fs::path> pages;
  const auto add = [&](const fs::path& file) {
    if (file.extension() == ".md" && fs::is_regular_file(file)) pages.push_back(file);
  };
  for (const auto& entry : fs::directory_iterator(top)) add(entry.path());
  for (const char* const folder : kPageFolders)
    if (fs::is_directory(top / folder))
      for (const auto& entry : fs::recursive_directory_iterator(top / folder)) add(entry.path());
  std::sort(pages.begin(), pages.end());
  return pages;
}

/// The lines of a page outside its blocks of code.
std::vector<std::string> prose_lines(const std::string& markdown) {
  std::vector<std::string> prose;
  std::istringstream in(markdown);
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos && line.compare(first, 3, "```") == 0)
      inside = !inside;
    else if (!inside)
      prose.push_back(line);
  }
  return prose;
}

/// A text without its `code`.
std::string without_code_spans(const std::string& text) {
  std::string kept;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = std::min(text.find('`', at), text.size());
    kept += text.substr(at, begin - at);
    const std::size_t inner = std::min(text.find_first_not_of('`', begin), text.size());
    const std::string mark = text.substr(begin, inner - begin);
    const std::size_t end = mark.empty() ? std::string::npos : text.find(mark, inner);
    at = end == std::string::npos ? inner : end + mark.size();
  }
  return kept;
}

/// Where the links of a page lead, as they stand there: [text](target), ![text](target), and lines
/// "[name]: target".
std::vector<std::string> link_targets(const std::string& markdown) {
  std::vector<std::string> targets;
  std::string text;
  for (const std::string& line : prose_lines(markdown)) {
    text += line + "\n";
    if (const std::size_t colon = line.find("]: "); line.starts_with("[") && colon != std::string::npos)
      targets.push_back(line.substr(colon + 3, line.find(' ', colon + 3) - (colon + 3)));
  }
  text = without_code_spans(text);
  for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 2))
    targets.push_back(text.substr(at + 2, text.find_first_of(") \n", at + 2) - (at + 2)));
  return targets;
}

/// A heading without the targets of its links.
std::string without_targets(std::string heading) {
  for (std::size_t at = heading.find("]("); at != std::string::npos; at = heading.find("](", at))
    heading.erase(at, heading.find(')', at) - at);
  return heading;
}

/// The anchor that GitHub gives a heading: letters, numbers, hyphens and underscores stay, in lower
/// case; blanks become hyphens, and all else goes. It knows the letters that take at most two
/// bytes.
std::string slug_of(const std::string& heading) {
  const std::string text = without_targets(heading.substr(0, heading.find_last_not_of(" #") + 1));
  std::string slug;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      if ((byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_')
        slug += text[at];
      else if (byte >= 'A' && byte <= 'Z')
        slug += static_cast<char>(byte - 'A' + 'a');
      else if (byte == ' ')
        slug += '-';
      continue;
    }
    if (byte < 0xC0 || byte >= 0xE0 || at + 1 == text.size()) continue;
    unsigned code = ((byte & 0x1FU) << 6U) | (static_cast<unsigned char>(text[++at]) & 0x3FU);
    const bool is_latin = code >= 0xC0 && code < 0x250 && code != 0xD7 && code != 0xF7;
    const bool is_greek = code >= 0x370 && code < 0x400;
    if (!is_latin && !is_greek) continue;
    if ((code >= 0xC0 && code <= 0xDE) || (code >= 0x391 && code <= 0x3A9)) code += 0x20;
    slug += static_cast<char>(0xC0U | (code >> 6U));
    slug += static_cast<char>(0x80U | (code & 0x3FU));
  }
  return slug;
}

/// The anchors of a page: those of its headings, a number behind repeated ones, and those that it
/// names itself.
std::set<std::string> anchors_of(const std::string& markdown) {
  std::set<std::string> anchors;
  std::map<std::string, int> uses;
  for (const std::string& line : prose_lines(markdown)) {
    for (const char* const tag : {"<a id=\"", "<a name=\""}) {
      const std::size_t at = line.find(tag);
      if (at == std::string::npos) continue;
      const std::size_t first = line.find('"', at) + 1;
      anchors.insert(line.substr(first, line.find('"', first) - first));
    }
    const std::size_t level = line.find_first_not_of('#');
    if (level == 0 || level == std::string::npos || level > 6 || line[level] != ' ') continue;
    const std::string slug = slug_of(line.substr(level + 1));
    const int before = uses[slug]++;
    anchors.insert(before == 0 ? slug : slug + "-" + std::to_string(before));
  }
  return anchors;
}

/// What is wrong with a link, or nothing.
std::string fault_of_link(const fs::path& top, const fs::path& page, const std::string& target) {
  if (target.empty()) return "is empty";
  if (target.find("://") != std::string::npos || target.starts_with("mailto:")) return "";
  const std::size_t hash = target.find('#');
  const std::string file = target.substr(0, hash);
  const fs::path named = file.empty() ? page : (page.parent_path() / file).lexically_normal();
  const fs::path within = named.lexically_relative(top);
  if (within.empty() || *within.begin() == "..") return "leads out of the repository";
  if (!fs::exists(named)) return "leads to no file";
  if (hash == std::string::npos) return "";
  if (named.extension() != ".md") return "has an anchor, and leads to no page";
  return anchors_of(read_all(named)).contains(target.substr(hash + 1)) ? "" : "leads to no heading";
}

struct LinkReport {
  std::size_t links = 0;
  std::vector<std::string> faults;
};

LinkReport check_links(const fs::path& top) {
  LinkReport report;
  for (const fs::path& page : pages_below(top))
    for (const std::string& target : link_targets(read_all(page))) {
      ++report.links;
      if (const std::string fault = fault_of_link(top, page, target); !fault.empty())
        report.faults.push_back(page.lexically_relative(top).string() + ": the link to '" + target + "' " + fault);
    }
  return report;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the relative links of all pages lead to files and headings that are there") {
    const LinkReport report = check_links(UNWEAVE_SOURCE_DIR);
    CHECK(report.links >= 100);
    for (const std::string& fault : report.faults) FAIL_CHECK(fault);
  }

  TEST_CASE("links that lead nowhere are found") {
    const testing::TempDir dir;
    fs::create_directories(dir / "tools/guide");
    write_file(dir / "tools/code.cpp", "");
    write_file(dir / "tools/guide/page.md",
               "# Page\n\n## Twice\n\n## Twice\n\n[up](../../README.md#the-top-of-it) [gone](gone.md)\n");
    write_file(
        dir / "README.md",
        "# The top, of `it`\n\n[a](tools/guide/page.md) [b](tools/guide/page.md#twice-1) [c](#the-top-of-it)\n"
        "[folder](tools/) ![picture](tools/code.cpp) [web](https://example.org/a#b) `[code](no.md)`\n"
        "[d](tools/guide/page.md#twice-2) [e](tools/code.cpp#L1) [f](../outside.md) [over\ntwo lines](no.md) [g]()\n"
        "[name]: nothing.md\n\n```text\n[block](no.md)\n```\n");
    const LinkReport report = check_links(dir.path());
    CHECK(report.links == 14);
    const std::vector<std::string> expected{
        "README.md: the link to 'nothing.md' leads to no file",
        "README.md: the link to 'tools/guide/page.md#twice-2' leads to no heading",
        "README.md: the link to 'tools/code.cpp#L1' has an anchor, and leads to no page",
        "README.md: the link to '../outside.md' leads out of the repository",
        "README.md: the link to 'no.md' leads to no file",
        "README.md: the link to '' is empty",
        "tools/guide/page.md: the link to 'gone.md' leads to no file",
    };
    CHECK(report.faults == expected);
  }

  TEST_CASE("anchors are those that GitHub gives headings") {
    CHECK(slug_of("What it does not reach") == "what-it-does-not-reach");
    CHECK(slug_of("`--json`, and `exit codes`") == "--json-and-exit-codes");
    CHECK(slug_of("A file's [name](page.md#b), again ##") == "a-files-name-again");
    CHECK(slug_of("The default λ: 2^20 × 16 – Ω_1") == "the-default-λ-220--16--ω_1");
  }
}

}  // namespace unweave

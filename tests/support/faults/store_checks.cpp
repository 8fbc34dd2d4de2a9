// tests/support/faults/store_checks.cpp - what several scenarios need.
#include "support/faults/store_checks.h"

#include <doctest/doctest.h>

#include <sstream>

#include "algorithms/live/digest.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/verification/verify.h"

namespace unweave::testing {

namespace fs = std::filesystem;

/// The contents of a folder that a child works in.
Tree tree_after(const std::function<void(const fs::path&)>& work, const Tree& before) {
  const TempDir dir;
  write_tree(before, dir / "w");
  const Ending ending = run_in_child([&] {
    work(dir / "w");
    return std::string();
  });
  CAPTURE(ending.text);
  REQUIRE(ending.code == 0);
  return read_tree(dir / "w");
}

std::string text_after(const Tree& before, const std::function<std::string(const fs::path&)>& work) {
  const TempDir dir;
  write_tree(before, dir / "w");
  const Ending ending = run_in_child([&] { return work(dir / "w"); });
  CAPTURE(ending.text);
  REQUIRE(ending.code == 0);
  return ending.text;
}

/// Enough, and small: what is set aside is touched.
MemoryBudget& budget() {
  static MemoryBudget one(std::uint64_t{64} << 20);
  return one;
}

Sample sample() {
  return random_sample(60, 0.08, 3, 5);
}

std::string digest_of(const fs::path& store) {
  return digest_text(content_digest(StoreReader(store, budget())));
}

std::string findings_of(const fs::path& store) {
  std::string text;
  for (const Finding& finding : verify_store(store, {std::nullopt, false, 1}, budget()).findings)
    text += finding.text + "\n";
  return text.empty() ? text : "verify: " + text;
}

std::string open_as_next_writer(const fs::path& folder) {
  if (fs::exists(folder / "s" / "manifest.json")) static_cast<void>(StoreWriter(folder / "s", budget()));
  return {};
}

/// The files of the store, after the next writer has removed what a fault left behind.
Tree tidied(const fs::path& store) {
  static_cast<void>(StoreWriter(store, budget()));
  Tree tree = read_tree(store);
  std::erase_if(tree, [](const auto& item) { return item.first.ends_with('/'); });
  return tree;
}

Tree files_below(const Tree& tree, const std::string& folder) {
  Tree files;
  for (const auto& [path, bytes] : tree)
    if (path.starts_with(folder) && !path.ends_with('/')) files[path.substr(folder.size())] = bytes;
  return files;
}

std::string names_of(const Tree& tree) {
  std::string text;
  for (const auto& [path, bytes] : tree) text += path + " (" + std::to_string(bytes.size()) + ") ";
  return text;
}

/// The command once more where it is not done, and the files that it makes without faults.
std::string check_rerun(const fs::path& store, bool done, const std::vector<std::string>& words, const Tree& expected) {
  if (!done) command(words);
  const Tree files = tidied(store);
  if (files != expected) return "other files: " + names_of(files) + " instead of " + names_of(expected);
  return findings_of(store);
}
std::vector<std::string> lines_of_text(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (!in.eof()) lines.push_back(line);
  if (!lines.empty() && lines.back().find('\0') != std::string::npos) lines.pop_back();
  return lines;
}

}  // namespace unweave::testing

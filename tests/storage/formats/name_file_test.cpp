// tests/storage/formats/name_file_test.cpp - names come back, and lead back to their nodes; what is
// damaged or forged is refused.
#include "storage/formats/name_file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::TempDir;

/// Names of every length, some missing, some that begin alike.
std::vector<std::string> some_names(NodeId nodes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::string> names(nodes);
  for (NodeId node = 0; node < nodes; ++node) {
    if (random() % 5 == 0) continue;
    names[node] = std::to_string(node) + "-";
    names[node].resize(std::min<std::size_t>(kMostNameBytes, names[node].size() + random() % (node % 3 == 0 ? 260 : 9)),
                       static_cast<char>('a' + random() % 26));
  }
  return names;
}

/// The files of names that are distinct.
NameEntries write_names(const std::filesystem::path& store, const std::vector<std::string>& names) {
  NameEntries entries;
  NameWriter writer(store);
  std::vector<std::pair<std::uint64_t, NodeId>> hashes;
  for (const std::string& name : names) {
    if (!name.empty()) hashes.emplace_back(name_hash(name), static_cast<NodeId>(writer.nodes()));
    writer.add(name);
  }
  entries.names = writer.finish();
  std::sort(hashes.begin(), hashes.end());
  NameIndexWriter index(store, static_cast<NodeId>(names.size()), hashes.size());
  for (const auto& [hash, id] : hashes) index.add(hash, id);
  entries.index = index.finish();
  return entries;
}

void read_all_names(const std::filesystem::path& store, const NameEntries& entries, NodeId nodes) {
  const NameList list(store, entries.names, nodes);
  const NameIndex index(store, entries.index, list);
  for (NodeId node = 0; node < nodes; ++node) static_cast<void>(index.find(list.name(node)));
}

/// An index of any bytes over one name, "a" of node 1 among two.
FileEntry forge_index(const std::filesystem::path& store, std::uint64_t hash, NodeId id, std::uint32_t first,
                      std::uint32_t last) {
  SealedWriter writer({store, "names", "index", "index", "nameidx"});
  writer.append_values(std::span<const std::uint64_t>(&hash, 1));
  const std::uint32_t words[3] = {id, first, last};
  writer.append_values(std::span<const std::uint32_t>(words));
  return writer.finish({2, 1});
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("names come back by node, and nodes by name, one at a time and many at once") {
    for (const NodeId nodes : {1U, 2U, 63U, 64U, 65U, 1000U, 20'000U}) {
      CAPTURE(nodes);
      const TempDir dir;
      const std::vector<std::string> names = some_names(nodes, nodes);
      const NameEntries entries = write_names(dir.path(), names);
      const NameList list(dir.path(), entries.names, nodes);
      const NameIndex index(dir.path(), entries.index, list);
      list.verify();
      index.verify();
      std::vector<std::string> asked;
      for (NodeId node = 0; node < nodes; ++node) {
        CHECK(list.name(node) == names[node]);
        CHECK(index.find(names[node]) == (names[node].empty() ? kNoNode : node));
        asked.push_back(names[node]);
        asked.push_back(names[node] + "?");
        asked.push_back(std::to_string(node));
      }
      std::vector<std::string_view> views(asked.begin(), asked.end());
      std::vector<NodeId> found(views.size());
      index.find(views, found.data());
      for (std::size_t i = 0; i < views.size(); ++i) CHECK(found[i] == index.find(views[i]));
      CHECK(list.named() == static_cast<std::uint64_t>(std::count_if(
                                names.begin(), names.end(), [](const std::string& name) { return !name.empty(); })));
    }
  }

  TEST_CASE("what a name may be") {
    for (const std::string& good :
         {std::string("a"), std::string("x_1-2:3@example.org"), std::string("\xc3\xbc\xe2\x82\xac"),
          std::string("\xf0\x9f\x98\x80"), std::string("-1"), std::string(255, 'z'), std::string("\xc2\xa0"),
          std::string("a#"), std::string("\xe2\x80\x8d"), std::string("O'Brien, Pat"), std::string("\"a\" b")})
      CHECK(name_fault(good) == nullptr);
    for (const std::string& bad : {std::string(),
                                   std::string(256, 'z'),
                                   std::string("#1"),
                                   std::string(" a"),
                                   std::string("a "),
                                   std::string("a\tb"),
                                   std::string("a\nb"),
                                   std::string("a\0b", 3),
                                   std::string("\x7f"),
                                   std::string("\xc2\x85"),
                                   std::string("\x80"),
                                   std::string("\xc3"),
                                   std::string("\xc0\x80"),
                                   std::string("\xe0\x80\x80"),
                                   std::string("\xed\xa0\x80"),
                                   std::string("\xf4\x90\x80\x80"),
                                   std::string("\xf5\x80\x80\x80"),
                                   std::string("\xe2\x82"),
                                   std::string("\xff"),
                                   std::string("\xe2\x80\xae"),
                                   std::string("a\xe2\x81\xa6"),
                                   std::string("\xe2\x80\xa8"),
                                   std::string("\xef\xbb\xbf"),
                                   std::string("\xd8\x9c")}) {
      CAPTURE(bad);
      CHECK(name_fault(bad) != nullptr);
    }
  }

  TEST_CASE("names that older programs took are whole and found; what they did not take is damage") {
    const std::string turn = "\xe2\x80\xae", mark = "\xef\xbb\xbf";
    const std::vector<std::string> older{"ann", turn + "bob", "", mark + "cyd", "\xe2\x80\xa8"};
    const TempDir dir;
    const NameEntries entries = write_names(dir.path(), older);
    const NameList list(dir.path(), entries.names, static_cast<NodeId>(older.size()));
    list.verify();
    const NameIndex index(dir.path(), entries.index, list);
    index.verify();
    for (std::size_t i = 0; i < older.size(); ++i)
      if (!older[i].empty()) CHECK(index.find(older[i]) == i);
    for (const std::string& bad : {std::string("\xe2\x80\xae\xff"), std::string("a\xc2\x9b"), std::string("\x1b[2J")}) {
      const TempDir other;
      const NameEntries damaged = write_names(other.path(), {"ann", bad});
      CHECK_THROWS_AS(NameList(other.path(), damaged.names, 2).verify(), FormatError);
    }
  }

  TEST_CASE("whatever byte is flipped, names are refused or stay what they were") {
    const TempDir dir;
    const std::vector<std::string> names = some_names(150, 3);
    const NameEntries entries = write_names(dir.path(), names);
    for (const FileEntry* entry : {&entries.names, &entries.index}) {
      const std::filesystem::path file = dir.path() / entry->path;
      const std::string whole = testing::read_all(file);
      for (std::size_t at = 0; at < whole.size(); at += 7) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
        testing::write_file(file, bytes);
        CHECK_THROWS_AS(read_all_names(dir.path(), entries, 150), FormatError);
      }
      testing::write_file(file, whole);
    }
    read_all_names(dir.path(), entries, 150);
  }

  TEST_CASE("another number of nodes, lengths and places that lie outside, and bytes that are no names are refused") {
    const TempDir dir;
    const NameEntries entries = write_names(dir.path(), {"a", "", "c"});
    CHECK_THROWS_AS(NameList(dir.path(), entries.names, 4), FormatError);
    CHECK_THROWS_AS(NameList(dir.path(), entries.names, 200), FormatError);
    const auto forge = [&](const std::string& block, std::uint64_t first, std::uint64_t last, SealedParameters p) {
      SealedWriter writer({dir.path(), "names", "names", "names", "names"});
      writer.append(std::as_bytes(std::span(block)));
      writer.align(8);
      const std::uint64_t offsets[2] = {first, last};
      writer.append_values(std::span<const std::uint64_t>(offsets));
      return writer.finish(p);
    };
    std::string block(64, '\0');
    block[0] = 1;
    block[2] = 2;
    block += "abc";
    const auto refuses = [&](const FileEntry& entry) {
      const NameList list(dir.path(), entry, 3);
      CHECK_THROWS_AS(list.verify(), FormatError);
    };
    NameList(dir.path(), forge(block, 0, 67, {3, 2}), 3).verify();
    refuses(forge(block, 0, 67, {3, 3}));
    refuses(forge(block, 1, 67, {3, 2}));
    refuses(forge(block, 0, 66, {3, 2}));
    refuses(forge(block, 0, std::uint64_t{1} << 60, {3, 2}));
    refuses(forge(block, 67, 0, {3, 2}));
    for (const auto& [at, byte] :
         std::vector<std::pair<std::size_t, char>>{{0, 2}, {3, 1}, {64, ' '}, {65, '#'}, {66, '\xff'}}) {
      std::string other = block;
      other[at] = byte;
      refuses(forge(other, 0, 67, {3, 2}));
    }
    std::string padded = block + std::string(5, '\0');
    padded[70] = 1;
    refuses(forge(padded, 0, 67, {3, 2}));
    const NameList long_one(dir.path(), forge(std::string(64, '\xff'), 0, 64, {3, 2}), 3);
    for (NodeId node = 0; node < 3; ++node) CHECK_THROWS_AS(static_cast<void>(long_one.name(node)), FormatError);
  }

  TEST_CASE("an index that says something else than the names is refused") {
    const TempDir dir;
    const NameEntries entries = write_names(dir.path(), {"", "a"});
    const NameList list(dir.path(), entries.names, 2);
    const std::uint64_t hash = name_hash("a");
    NameIndex(dir.path(), forge_index(dir.path(), hash, 1, 0, 1), list).verify();
    CHECK_THROWS_AS(NameIndex(dir.path(), forge_index(dir.path(), hash, 0, 0, 1), list).verify(), FormatError);
    CHECK_THROWS_AS(NameIndex(dir.path(), forge_index(dir.path(), hash + 1, 1, 0, 1), list).verify(), FormatError);
    CHECK_THROWS_AS(NameIndex(dir.path(), forge_index(dir.path(), hash, 1, 0, 0), list).verify(), FormatError);
    const NameIndex outside(dir.path(), forge_index(dir.path(), hash, 7, 0, 1), list);
    CHECK_THROWS_AS(static_cast<void>(outside.find("a")), FormatError);
    const NameIndex places(dir.path(), forge_index(dir.path(), hash, 1, 0, 9), list);
    CHECK_THROWS_AS(static_cast<void>(places.find("a")), FormatError);
    // A hash decides nothing: the name of the node does.
    const NameIndex other(dir.path(), forge_index(dir.path(), name_hash("b"), 1, 0, 1), list);
    CHECK(other.find("b") == kNoNode);
    CHECK_THROWS_AS(
        NameIndex(dir.path(), entries.index, NameList(dir.path(), write_names(dir.path(), {"", ""}).names, 2)),
        FormatError);
  }
}

}  // namespace unweave

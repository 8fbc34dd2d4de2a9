// tests/engine/ingest/name_import_test.cpp - dictionaries from files, in any memory, and the tables
// that imports look up.
#include "engine/ingest/name_import.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "engine/ingest/hash_sorter.h"
#include "engine/ingest/name_table.h"
#include "engine/ingest/store_import.h"
#include "storage/formats/manifest.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::check_message;
using testing::message_of;
using testing::TempDir;
using testing::write_file;

ImportedNames import_text(const std::filesystem::path& folder, const std::string& text,
                          std::uint64_t memory = std::uint64_t{64} << 20) {
  MemoryBudget budget(memory);
  WorkMeter nobody;
  const InputFile file{write_file(folder / "ids.txt", text), {}};
  ImportedNames imported = import_names(folder / "store", file, std::nullopt, budget, nobody);
  CHECK(budget.used() == 0);
  return imported;
}

std::string name_of(NodeId node, std::size_t length) {
  std::string name = "n" + std::to_string(node);
  name.resize(std::max(name.size(), length), 'x');
  return name;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("hashes come sorted, in memory and from runs") {
    for (const std::uint64_t memory : {std::uint64_t{1} << 20, std::uint64_t{64} << 10}) {
      const TempDir dir;
      HashSorter sorter(dir.path(), memory);
      std::mt19937_64 random(7);
      std::vector<std::pair<std::uint64_t, NodeId>> wanted, found;
      for (NodeId id = 0; id < 50'000; ++id) {
        const std::uint64_t hash = id % 9 == 0 ? random() % 10 : random();
        wanted.emplace_back(hash, id);
        sorter.add(hash, id);
      }
      std::sort(wanted.begin(), wanted.end());
      sorter.drain([&](std::uint64_t hash, NodeId id) { found.emplace_back(hash, id); });
      CHECK(found == wanted);
    }
    const TempDir dir;
    HashSorter none(dir.path(), 1);
    none.drain([](std::uint64_t, NodeId) { FAIL("there is nothing"); });
  }

  TEST_CASE("a dictionary is the same whatever memory there is") {
    std::string text;
    for (NodeId node = 0; node < 60'000; ++node) text += (node % 11 == 3 ? "" : name_of(node, node % 30)) + "\n";
    const TempDir ample, small;
    const ImportedNames one = import_text(ample.path(), text);
    const ImportedNames other = import_text(small.path(), text, std::uint64_t{1} << 20);
    CHECK(one.entries == other.entries);
    CHECK(one.nodes == 60'000);
    CHECK(one.named == 60'000 - 60'000 / 11 - (60'000 % 11 > 3 ? 1 : 0));
    const NameList list(ample / "store", one.entries.names, one.nodes);
    list.verify();
    NameIndex(ample / "store", one.entries.index, list).verify();
  }

  TEST_CASE("a name that two nodes have is named with both its lines; no name at all is an error") {
    const TempDir dir;
    check_message(message_of<InputError>([&] { import_text(dir.path(), "a\nb\n\nc\nb\n"); }),
                  {"ids.txt", "line 5", "'b'", "line 2"});
    check_message(message_of<InputError>([&] { import_text(dir.path(), ""); }), {"ids.txt", "no names"});
    std::string many;
    for (int i = 0; i < 1000; ++i) many += "same\n";
    check_message(message_of<InputError>([&] { import_text(dir.path(), many); }), {"'same'"});
    CHECK(import_text(dir.path(), "\n\n").named == 0);
  }

  TEST_CASE("a table finds what the index finds, for short names and long ones") {
    for (const std::size_t length : {std::size_t{1}, std::size_t{12}, std::size_t{16}, std::size_t{28}, std::size_t{36},
                                     std::size_t{60}, std::size_t{200}}) {
      CAPTURE(length);
      const TempDir dir;
      std::string text;
      for (NodeId node = 0; node < 3000; ++node) text += (node % 7 == 0 ? "" : name_of(node, length - node % 2)) + "\n";
      const ImportedNames imported = import_text(dir.path(), text);
      const NameList list(dir / "store", imported.entries.names, imported.nodes);
      const NameIndex index(dir / "store", imported.entries.index, list);
      MemoryBudget budget(std::uint64_t{64} << 20);
      const NameTable table(list, budget);
      CHECK(budget.used() == NameTable::bytes(list));
      std::vector<std::string> asked{"", "n", std::string(255, 'x'), std::string(300, 'x')};
      for (NodeId node = 0; node < 3000; ++node) {
        asked.push_back(name_of(node, length - node % 2));
        asked.push_back(name_of(node, length - node % 2) + "x");
        asked.push_back(name_of(node, length + 5));
        asked.push_back(asked.back().substr(0, 12));
      }
      const std::vector<std::string_view> views(asked.begin(), asked.end());
      std::vector<NodeId> by_table(views.size()), by_index(views.size());
      table.find(views, by_table.data());
      index.find(views, by_index.data());
      CHECK(by_table == by_index);
      CHECK(std::count(by_table.begin(), by_table.end(), kNoNode) < static_cast<std::ptrdiff_t>(views.size()));
    }
  }

  TEST_CASE("names without some, and for more nodes, are those of an import without them") {
    const TempDir dir, other, larger;
    std::string whole, rest;
    for (NodeId node = 0; node < 500; ++node) {
      const std::string name = node % 5 == 1 ? "" : name_of(node, 20);
      whole += name + "\n";
      rest += (node % 3 == 0 ? "" : name) + "\n";
    }
    const ImportedNames before = import_text(dir.path(), whole);
    MemoryBudget budget(std::uint64_t{64} << 20);
    WorkMeter nobody;
    const NameList list(dir / "store", before.entries.names, 500);
    CHECK(rewrite_names(
              dir / "store", list, 500, [](NodeId node) { return node % 3 != 0; }, nullptr, std::nullopt, budget,
              nobody) == import_text(other.path(), rest).entries);
    CHECK(rewrite_names(
              dir / "store", list, 577, [](NodeId) { return true; }, nullptr, std::nullopt, budget, nobody) ==
          import_text(larger.path(), whole + std::string(77, '\n')).entries);
    CHECK(write_name_index(dir / "store", list, budget, nobody) == before.entries.index);
  }

  TEST_CASE("a graph of names is that of numbers, in a table and, where memory is short, from the index") {
    std::mt19937 random(5);
    constexpr NodeId kNodes = 40'000;
    std::string ids, numbers, names;
    for (NodeId node = 0; node < kNodes; ++node) ids += name_of(node * 7919 % kNodes, 14) + "\n";
    for (int i = 0; i < 100'000; ++i) {
      const auto draw = [&] { return static_cast<NodeId>(random() % kNodes); };
      const NodeId u = draw(), v = i % 3 == 0 ? u / 2 : draw();
      numbers += std::to_string(u) + " " + std::to_string(v) + "\n";
      names += name_of(u * 7919 % kNodes, 14) + " " + name_of(v * 7919 % kNodes, 14) + "\n";
    }
    const TempDir dir;
    WorkMeter nobody;
    ImportOptions options;
    options.edges = InputFile{write_file(dir / "numbers", numbers), {}};
    options.nodes = kNodes;
    MemoryBudget ample(std::uint64_t{256} << 20), small(std::uint64_t{3} << 20);
    const ImportReport by_number = import_store(dir / "n", options, ample, nobody);
    CHECK_FALSE(by_number.named);
    options.edges = InputFile{write_file(dir / "names", names), {}};
    options.ids = InputFile{write_file(dir / "ids", ids), {}};
    const ImportReport by_name = import_store(dir / "a", options, ample, nobody);
    import_store(dir / "s", options, small, nobody);
    CHECK(by_name.named == kNodes);
    CHECK(by_name.edges_read == by_number.edges_read);
    CHECK(by_name.duplicates == by_number.duplicates);
    CHECK(read_manifest(dir / "a").shards == read_manifest(dir / "n").shards);
    CHECK(testing::folder_bytes(dir / "a") == testing::folder_bytes(dir / "s"));
    CHECK(read_manifest(dir / "n").names == std::nullopt);

    options.nodes = kNodes + 1;
    check_message(message_of<InputError>([&] { import_store(dir / "x", options, ample, nobody); }),
                  {"ids", "40000 nodes", "40001"});
    CHECK_FALSE(std::filesystem::exists(dir / "x"));
  }
}

}  // namespace unweave

// tests/storage/formats/multiplied_shard_test.cpp - shards whose weights lie beside the ids: bytes,
// lists, damage, and the repeats of other forms.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>
#include <vector>

#include "storage/formats/shard.h"
#include "storage/io/error.h"
#include "storage/types/list_view.h"
#include "support/folder_bytes.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::TempDir;

const ListForm kMultiplied(kMostWeight, true);

struct WeightedLists {
  std::vector<NeighbourList> lists;

  [[nodiscard]] FileEntry write(const fs::path& store, NodeId graph_nodes, const ListForm& form) const {
    fs::create_directories(store / "graph");
    ShardWriter writer(store, {0, static_cast<NodeId>(lists.size())}, graph_nodes, form, 1 << 20);
    for (const NeighbourList& list : lists) writer.add(list.ids, list.weights);
    return writer.finish();
  }
  /// Likewise from lists that name each neighbour as often as its edge weighs.
  [[nodiscard]] FileEntry write_repeated(const fs::path& store, NodeId graph_nodes, const ListForm& form) const {
    fs::create_directories(store / "graph");
    ShardWriter writer(store, {0, static_cast<NodeId>(lists.size())}, graph_nodes, form, 1 << 20);
    for (const NeighbourList& list : lists) {
      std::vector<NodeId> all;
      for (std::size_t i = 0; i < list.ids.size(); ++i) all.insert(all.end(), list.weights[i], list.ids[i]);
      writer.add(all);
    }
    return writer.finish();
  }
};

WeightedLists random_lists(NodeId nodes, std::uint32_t most, std::uint32_t seed) {
  std::mt19937 random(seed);
  WeightedLists out;
  out.lists.resize(nodes);
  for (NodeId u = 0; u < nodes; ++u)
    for (NodeId v = 0; v < nodes; ++v) {
      if (u == v || random() % 9 != 0 || u % 7 == 3) continue;
      out.lists[u].ids.push_back(v);
      out.lists[u].weights.push_back(random() % 2 == 0 ? 1 : 1 + static_cast<std::uint32_t>(random() % most));
    }
  return out;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the example of FORMAT.md") {
    const TempDir dir;
    const WeightedLists path{{{{1}, {3}}, {{0, 2}, {3, 300}}, {{1}, {300}}}};
    const FileEntry entry = path.write(dir.path(), 3, kMultiplied);
    const SealedFile file(dir.path(), entry, "shard");
    CHECK(file.parameters() == SealedParameters{0, 3, 606, 3, 7, (std::uint64_t{1} << 32) + 65535});
    constexpr unsigned char kBytes[] = {0x00, 0,    0,    0,    0x0f, 0,    0,    0,    0x02, 0x19,
                                        0x09, 0x03, 0x5e, 0xb2, 0x04, 0x09, 0x02, 0x04, 0xac, 0x5c,
                                        0x09, 0x00, 0,    0,    0,    0,    0x01, 0x05, 0x01, 0x01};
    REQUIRE(file.size() == std::size(kBytes));
    for (std::size_t i = 0; i < std::size(kBytes); ++i)
      CHECK(static_cast<unsigned>(file.bytes(0, file.size())[i]) == unsigned{kBytes[i]});
  }

  TEST_CASE("lists and weights come back, whole blocks and one by one") {
    for (const std::uint32_t most : {1U, 5U, 2000U})
      for (const NodeId nodes : {1U, 31U, 32U, 33U, 100U}) {
        const TempDir dir;
        const WeightedLists lists = random_lists(nodes, most, nodes + most);
        const FileEntry entry = lists.write(dir.path(), nodes, kMultiplied);
        const Shard shard(dir.path(), entry, {0, nodes}, nodes, kMultiplied);
        shard.verify();
        std::uint64_t largest = 0;
        for (std::size_t block = 0; block < shard.num_blocks(); ++block) {
          largest = std::max(largest, shard.block_ids(block));
          NeighbourList found, wanted;
          found.ids.resize(shard.block_ids(block) + kDecodeSlack);
          found.weights.resize(shard.block_ids(block));
          shard.decode(block, found.ids.data(), found.weights.data());
          for (NodeId u = static_cast<NodeId>(block * kBlockNodes);
               u < std::min<std::size_t>(nodes, (block + 1) * kBlockNodes); ++u) {
            const NeighbourList& list = lists.lists[u];
            wanted.ids.insert(wanted.ids.end(), list.ids.begin(), list.ids.end());
            wanted.weights.insert(wanted.weights.end(), list.weights.begin(), list.weights.end());
            CHECK(shard.id_counts()[u] == list.ids.size());
            CHECK(shard.counts()[u] == std::accumulate(list.weights.begin(), list.weights.end(), 0U));
            NeighbourList alone;
            alone.ids.resize(list.ids.size() + kDecodeSlack);
            alone.weights.resize(list.ids.size());
            shard.decode_node(u, alone.ids.data(), alone.weights.data());
            alone.ids.resize(list.ids.size());
            CHECK(alone.ids == list.ids);
            CHECK(alone.weights == list.weights);
          }
          found.ids.resize(wanted.ids.size());
          CHECK(found.ids == wanted.ids);
          CHECK(found.weights == wanted.weights);
        }
        CHECK(shard.most_block_ids() == largest);
      }
  }

  TEST_CASE("where an id stands in a file as often as its edge weighs, lists with weights give the bytes of repeats") {
    for (const NodeId nodes : {1U, 33U, 100U}) {
      const TempDir one, two;
      const WeightedLists lists = random_lists(nodes, 300, nodes);
      CHECK(lists.write(one.path(), nodes, ListForm(300)) == lists.write_repeated(two.path(), nodes, ListForm(300)));
    }
  }

  TEST_CASE("pieces that several threads encode make the same file") {
    const TempDir one, two;
    const WeightedLists lists = random_lists(80, 300, 4);
    const FileEntry entry = lists.write(one.path(), 80, kMultiplied);
    fs::create_directories(two.path() / "graph");
    ShardWriter writer(two.path(), {0, 80}, 80, kMultiplied, 1 << 20);
    for (const NodeRange range : {NodeRange{0, 32}, NodeRange{32, 80}}) {
      std::vector<std::uint32_t> counts;
      NeighbourList all;
      for (NodeId u = range.first; u < range.last; ++u) {
        const NeighbourList& list = lists.lists[u];
        counts.push_back(static_cast<std::uint32_t>(list.ids.size()));
        all.ids.insert(all.ids.end(), list.ids.begin(), list.ids.end());
        all.weights.insert(all.weights.end(), list.weights.begin(), list.weights.end());
      }
      EncodedLists encoded;
      encode_lists({counts, all.ids, all.weights}, kMultiplied, encoded);
      writer.append(encoded);
    }
    CHECK(writer.finish() == entry);
  }

  TEST_CASE("a shard of another form is none of this graph, and weights that do not add up are damage") {
    const TempDir dir;
    const WeightedLists lists = random_lists(40, 9, 6);
    const FileEntry entry = lists.write(dir.path(), 40, kMultiplied);
    CHECK_THROWS_AS(Shard(dir.path(), entry, {0, 40}, 40, ListForm(kMostWeight)), FormatError);
    CHECK_THROWS_AS(Shard(dir.path(), entry, {0, 40}, 40, ListForm(1)), FormatError);
    const FileEntry repeated = lists.write(dir.path(), 40, ListForm(9));
    CHECK_THROWS_AS(Shard(dir.path(), repeated, {0, 40}, 40, ListForm(9, true)), FormatError);
    // Damaged bytes under a checksum of their own.
    const SealedFile file(dir.path(), entry, "shard");
    const auto payload = file.bytes(0, file.size());
    std::size_t refused = 0;
    for (std::size_t at = 0; at < payload.size(); ++at) {
      std::vector<std::byte> bytes(payload.begin(), payload.end());
      bytes[at] ^= std::byte{0x04};
      SealedWriter writer({dir.path(), "graph", "damaged", "shard", "shard"});
      writer.append(bytes);
      const FileEntry damaged = writer.finish(file.parameters());
      try {
        Shard(dir.path(), damaged, {0, 40}, 40, kMultiplied).verify();
      } catch (const FormatError&) {
        ++refused;
      }
    }
    CHECK(refused > payload.size() / 2);  // others are ids that a graph may have
  }
}

}  // namespace unweave

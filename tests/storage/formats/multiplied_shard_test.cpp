// tests/storage/formats/multiplied_shard_test.cpp - shards whose weights lie beside the ids: bytes,
// lists with and without repeats, and damage.
#include <doctest/doctest.h>

#include <filesystem>
#include <random>
#include <vector>

#include "storage/formats/shard.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::TempDir;

const ListForm kMultiplied(kMostWeight, true);

/// Lists that name each neighbour as often as its edge weighs.
struct Repeated {
  std::vector<std::vector<NodeId>> lists;

  [[nodiscard]] FileEntry write(const fs::path& store, NodeId graph_nodes, const ListForm& form) const {
    fs::create_directories(store / "graph");
    ShardWriter writer(store, {0, static_cast<NodeId>(lists.size())}, graph_nodes, form, 1 << 20);
    for (const auto& list : lists) writer.add(list);
    return writer.finish();
  }
};

Repeated random_lists(NodeId nodes, std::uint32_t most, std::uint32_t seed) {
  std::mt19937 random(seed);
  Repeated out;
  out.lists.resize(nodes);
  for (NodeId u = 0; u < nodes; ++u)
    for (NodeId v = 0; v < nodes; ++v)
      if (u != v && random() % 9 == 0 && u % 7 != 3)
        out.lists[u].insert(out.lists[u].end(), random() % 2 == 0 ? 1 : 1 + random() % most, v);
  return out;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the example of FORMAT.md") {
    const TempDir dir;
    Repeated path{{{1, 1, 1}, {0, 0, 0}, {}}};
    path.lists[1].insert(path.lists[1].end(), 300, 2);
    path.lists[2].insert(path.lists[2].end(), 300, 1);
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

  TEST_CASE("lists come back, with repeats and without, whole blocks and one by one") {
    for (const std::uint32_t most : {1U, 5U, 2000U})
      for (const NodeId nodes : {1U, 31U, 32U, 33U, 100U}) {
        const TempDir dir;
        const Repeated lists = random_lists(nodes, most, nodes + most);
        const FileEntry entry = lists.write(dir.path(), nodes, kMultiplied);
        const Shard shard(dir.path(), entry, {0, nodes}, nodes, kMultiplied);
        shard.verify();
        for (std::size_t block = 0; block < shard.num_blocks(); ++block) {
          std::vector<NodeId> repeated(shard.block_arcs(block) + kDecodeSlack);
          shard.decode(block, repeated.data());
          std::vector<NodeId> ids(shard.block_neighbours(block) + kDecodeSlack);
          std::vector<std::uint32_t> weights(shard.block_neighbours(block));
          shard.decode_weighted(block, shard.block_bytes(block), ids.data(), weights.data());
          std::vector<NodeId> all, expanded;
          for (NodeId u = static_cast<NodeId>(block * kBlockNodes);
               u < std::min<std::size_t>(nodes, (block + 1) * kBlockNodes); ++u) {
            const auto& list = lists.lists[u];
            all.insert(all.end(), list.begin(), list.end());
            CHECK(shard.counts()[u] == list.size());
            std::vector<NodeId> alone(list.size() + kDecodeSlack);
            shard.decode_node(u, alone.data());
            alone.resize(list.size());
            CHECK(alone == list);
          }
          repeated.resize(all.size());
          CHECK(repeated == all);
          for (std::size_t i = 0; i < weights.size(); ++i) expanded.insert(expanded.end(), weights[i], ids[i]);
          CHECK(expanded == all);
        }
      }
  }

  TEST_CASE("pieces that several threads encode make the same file") {
    const TempDir one, two;
    const Repeated lists = random_lists(80, 300, 4);
    const FileEntry entry = lists.write(one.path(), 80, kMultiplied);
    fs::create_directories(two.path() / "graph");
    ShardWriter writer(two.path(), {0, 80}, 80, kMultiplied, 1 << 20);
    for (const NodeRange range : {NodeRange{0, 32}, NodeRange{32, 80}}) {
      std::vector<std::uint32_t> counts;
      std::vector<NodeId> targets;
      for (NodeId u = range.first; u < range.last; ++u) {
        counts.push_back(static_cast<std::uint32_t>(lists.lists[u].size()));
        targets.insert(targets.end(), lists.lists[u].begin(), lists.lists[u].end());
      }
      EncodedLists encoded;
      encode_lists(counts, targets, kMultiplied, encoded);
      writer.append(encoded);
    }
    CHECK(writer.finish() == entry);
  }

  TEST_CASE("a shard of another form is none of this graph, and weights that do not add up are damage") {
    const TempDir dir;
    const Repeated lists = random_lists(40, 9, 6);
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

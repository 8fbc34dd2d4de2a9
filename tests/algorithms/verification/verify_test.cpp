// tests/algorithms/verification/verify_test.cpp - sound stores pass; every damage and every false
// statement is found and named.
#include "algorithms/verification/verify.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "algorithms/live/store_writer.h"
#include "engine/graph/store.h"
#include "storage/formats/node_file.h"
#include "storage/formats/order_file.h"
#include "storage/formats/run_file.h"
#include "storage/formats/shard.h"
#include "storage/formats/state_file.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::read_all;
using testing::TempDir;
using testing::text_of;
using testing::tiny_spec;
using testing::TinyStore;
using testing::write_file;

VerifyReport verify(const fs::path& store, std::optional<std::uint64_t> sample = std::nullopt, bool rebuild = false) {
  VerifyOptions options;
  options.sample = sample;
  options.rebuild = rebuild;
  return verify_store(store, options, ample_budget());
}

bool mentions(const VerifyReport& report, const std::string& words) {
  return text_of(report).find(words) != std::string::npos;
}

void stream(const fs::path& path, const std::vector<Request>& requests, double r_max, bool checkpoint) {
  StoreWriter store(path, ample_budget());
  store.apply(requests, store.resolve(requests), {r_max, ThresholdScale::absolute});
  if (checkpoint) store.checkpoint();
}

/// Declares that user u stands at position (u + by) mod N of what is there.
void rotate_order(const fs::path& store, NodeId by) {
  Manifest manifest = read_manifest(store);
  std::vector<NodeId> positions(manifest.nodes);
  for (NodeId user = 0; user < manifest.nodes; ++user) positions[user] = (user + by) % manifest.nodes;
  manifest.order = "rotated";
  manifest.order_file = write_order(store, positions);
  write_manifest(store, manifest);
}

TinyStore small_contents() {
  TinyStore ring = testing::random_store(40, 0, 2, 5);
  ring.edges.clear();
  for (NodeId node = 0; node < 40; ++node) ring.edges.push_back({node, (node + 1) % 40});
  return ring;
}

/// A store that has a file of every kind: an order, changes, runs, counts, stale rows, and a
/// journal with two records.
void write_full_store(const fs::path& path) {
  testing::write_store(path, small_contents());
  rotate_order(path, 3);
  testing::propagate_store(path, tiny_spec(3, false));
  stream(path, {{RequestKind::remove_edge, 0, 1}, {RequestKind::remove_node, 7, 0}, {RequestKind::insert_edge, 20, 39}},
         0.5, true);
  stream(path, {{RequestKind::remove_edge, 10, 11}}, 0.5, false);
  stream(path, {{RequestKind::remove_feature, 9, 0}, {RequestKind::remove_edge, 12, 13}}, 0.5, false);
}

std::vector<fs::path> files_of(const fs::path& store) {
  std::vector<fs::path> files;
  for (const auto& item : fs::recursive_directory_iterator(store))
    if (item.is_regular_file() && item.path().filename() != "lock") files.push_back(item.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// Changes the manifest as a correct writer would: with a new checksum.
void edit_manifest(const fs::path& store, const std::function<void(Manifest&)>& edit) {
  Manifest manifest = read_manifest(store);
  edit(manifest);
  write_manifest(store, manifest);
}

TEST_SUITE("unit") {
  TEST_CASE("sound stores pass every check, also with a rebuild") {
    for (const bool all_rows : {true, false}) {
      for (const std::uint32_t levels : {0U, 1U, 3U}) {
        CAPTURE(all_rows);
        CAPTURE(levels);
        const TempDir folder;
        testing::write_store(folder / "s", testing::random_store(300, 900, 3, 11));
        CHECK(text_of(verify(folder / "s")) == "");
        testing::propagate_store(folder / "s", tiny_spec(levels, all_rows));
        const VerifyReport report = verify(folder / "s", std::nullopt, true);
        CHECK(text_of(report) == "");
        CHECK(report.remarks.empty());
        if (all_rows) CHECK(report.rows == 300 * levels);  // those of the rebuild
        if (all_rows) CHECK(report.proved == 300 * levels);
        stream(folder / "s", {{RequestKind::remove_node, 0, 0}, {RequestKind::remove_edge, 3, 0}}, 0, false);
        CHECK(text_of(verify(folder / "s", std::nullopt, true)) == "");
        CHECK(text_of(verify(folder / "s", 10)) == "");
      }
    }
  }

  TEST_CASE("what the maps of the embedding take is charged as they are opened") {
    const TempDir folder;
    TinyStore many;
    many.nodes = 1 << 18;
    many.columns = 1;
    many.features.assign(many.nodes, 0.5F);
    const Manifest contents = testing::write_store(folder / "s", many);
    testing::propagate_store(folder / "s", tiny_spec(9));
    MemoryBudget little(Contents::bytes(contents) + (std::uint64_t{1} << 20));
    CHECK_THROWS_WITH_AS((void)verify_store(folder / "s", {}, little), doctest::Contains("rows of the embedding"),
                         ResourceError);
  }

  TEST_CASE("a sample looks at no more rows than asked for") {
    const TempDir folder;
    testing::write_store(folder / "s", testing::random_store(300, 900, 3, 11));
    testing::propagate_store(folder / "s", tiny_spec(2, false));
    for (const std::uint64_t sample : {0U, 1U, 7U, 299U, 300U, 5000U}) {
      CAPTURE(sample);
      const VerifyReport report = verify(folder / "s", sample);
      CHECK(report.ok());
      CHECK(report.counts <= sample);
      CHECK(report.counts >= std::min<std::uint64_t>(sample, 1));
    }
    CHECK(verify(folder / "s", 5000).counts == 300);
  }

  TEST_CASE("lazy streams, checkpoints and journals pass; a rebuild of stale rows is refused") {
    const TempDir folder;
    write_full_store(folder / "s");
    const Manifest manifest = read_manifest(folder / "s");
    REQUIRE(manifest.changes);
    REQUIRE(manifest.levels[1].run);
    REQUIRE(manifest.levels[1].counts);
    REQUIRE(manifest.levels[0].stale);
    CHECK(text_of(verify(folder / "s")) == "");
    CHECK_THROWS_AS(verify(folder / "s", std::nullopt, true), UsageError);
  }

  TEST_CASE("a rebuild needs an embedding") {
    const TempDir folder;
    testing::write_store(folder / "s", small_contents());
    CHECK_THROWS_AS(verify(folder / "s", std::nullopt, true), UsageError);
  }

  TEST_CASE("no store, an empty folder, a file in place of a store") {
    const TempDir folder;
    CHECK(verify(folder / "none").unreadable());
    fs::create_directory(folder / "empty");
    CHECK(mentions(verify(folder / "empty"), "manifest.json is missing"));
    write_file(folder / "file", "x");
    CHECK(verify(folder / "file").unreadable());
  }

  TEST_CASE("one flipped bit in any byte of any file is found, and the file is named" * doctest::test_suite("slow")) {
    const TempDir folder;
    write_full_store(folder / "s");
    for (const fs::path& file : files_of(folder / "s")) {
      CAPTURE(file);
      const std::string good = read_all(file);
      std::size_t missed = 0;
      for (std::size_t at = 0; at < good.size(); ++at) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ (1 << (at * 5 % 8)));
        write_file(file, bad);
        const VerifyReport report = verify(folder / "s", 1);
        if (!report.unreadable() || !mentions(report, file.string())) ++missed;
      }
      CHECK(missed == 0);
      write_file(file, good);
    }
    CHECK(verify(folder / "s").ok());
  }

  TEST_CASE("a file cut short at any byte is found; a journal only where no whole record ends" *
            doctest::test_suite("slow")) {
    const TempDir folder;
    write_full_store(folder / "s");
    for (const fs::path& file : files_of(folder / "s")) {
      CAPTURE(file);
      const bool journal = file.parent_path().filename() == "journal";
      const std::string good = read_all(file);
      std::size_t silent = 0;
      for (std::size_t size = 0; size < good.size(); ++size) {
        write_file(file, good.substr(0, size));
        const VerifyReport report = verify(folder / "s", 1);
        const bool found = report.unreadable() && mentions(report, file.string());
        if (!found && (!journal || report.remarks.empty())) ++silent;
        if (!found && !journal) CHECK(size == good.size());
      }
      CHECK(silent == (journal ? 2 : 0));  // the ends of the header and of the first record
      write_file(file, good);
      write_file(file, good + '\0');
      const VerifyReport longer = verify(folder / "s", 1);
      CHECK((longer.unreadable() || (journal && longer.remarks.size() == 1)));
      write_file(file, good);
    }
    CHECK(verify(folder / "s").ok());
  }

  TEST_CASE("missing files and files of another store are all named at once") {
    const TempDir folder;
    write_full_store(folder / "s");
    std::map<fs::path, std::string> good;
    for (const fs::path& file : files_of(folder / "s")) good[file] = read_all(file);
    for (const auto& [file, bytes] : good) {
      const std::string shown = file.string();  // clang cannot capture a structured binding
      CAPTURE(shown);
      fs::remove(file);
      const VerifyReport report = verify(folder / "s");
      CHECK(report.findings.size() == 1);
      CHECK(mentions(report, "manifest.json") == (file.filename() == "manifest.json"));
      write_file(file, bytes);
      for (const auto& [other, others] : good) {
        if (other == file) continue;
        write_file(file, others);
        CHECK(verify(folder / "s", 1).unreadable());
      }
      write_file(file, bytes);
    }
    for (const auto& [file, bytes] : good)
      if (file.filename() != "manifest.json") fs::remove(file);
    CHECK(verify(folder / "s").findings.size() == good.size() - 1);
  }

  TEST_CASE("a manifest that points outside the store is refused") {
    const TempDir folder;
    testing::write_store(folder / "s", small_contents());
    for (const char* path : {"../x", "/etc/passwd", "graph/../../x", ""}) {
      CAPTURE(path);
      const std::string good = read_all(folder / "s" / "manifest.json");
      edit_manifest(folder / "s", [&](Manifest& manifest) { manifest.labels->path = path; });
      const VerifyReport report = verify(folder / "s");
      CHECK(report.unreadable());
      CHECK(mentions(report, "leaves the store"));
      write_file(folder / "s" / "manifest.json", good);
    }
  }

  TEST_CASE("an arc without its reverse is false, and named") {
    const TempDir folder;
    create_store_folder(folder / "s");
    const std::vector<std::vector<NodeId>> lists{{1, 2}, {0, 3}, {3}, {1}};  // 0 -> 2 and 2 -> 3 have no reverse
    Manifest manifest;
    manifest.nodes = 4;
    ShardWriter shard(folder / "s", {0, 4}, 4, 1, 1 << 20);
    for (const auto& list : lists) shard.add(list);
    manifest.edges = 3;
    manifest.shards.push_back(shard.finish());
    write_manifest(folder / "s", manifest);
    for (const auto sample : {std::optional<std::uint64_t>(0), std::optional<std::uint64_t>()}) {
      const VerifyReport report = verify(folder / "s", sample);
      CHECK_FALSE(report.unreadable());
      CHECK(text_of(report) == "4 graph: arc 0 -> 2 has no reverse\n4 graph: arc 2 -> 3 has no reverse\n");
    }
  }

  TEST_CASE("false statements name nodes by the user's ids") {
    const TempDir folder;
    TinyStore contents = testing::path_of_three();
    contents.train = {0, 1};
    contents.valid = {0};
    testing::write_store(folder / "splits", contents);
    rotate_order(folder / "splits", 2);  // position 0 is user 1, position 1 is user 2
    CHECK(mentions(verify(folder / "splits"), "4 splits: node 1 is in train and in valid"));
    CHECK(mentions(verify(folder / "splits"), "4 splits: node 2 is in train and has no label"));

    create_store_folder(folder / "arcs");
    Manifest manifest;
    manifest.nodes = 3;
    manifest.edges = 1;
    ShardWriter shard(folder / "arcs", {0, 3}, 3, 1, 1 << 20);
    for (const std::vector<NodeId>& list : {std::vector<NodeId>{1}, {2}, {}}) shard.add(list);
    manifest.shards.push_back(shard.finish());
    write_manifest(folder / "arcs", manifest);
    rotate_order(folder / "arcs", 1);  // position p is user p - 1
    CHECK(mentions(verify(folder / "arcs"), "4 graph: arc 2 -> 0 has no reverse"));
    CHECK(mentions(verify(folder / "arcs"), "4 graph: arc 0 -> 1 has no reverse"));

    testing::write_store(folder / "sums", testing::path_of_three());
    rotate_order(folder / "sums", 1);  // position 1 is user 0
    testing::propagate_store(folder / "sums", tiny_spec(1));
    StatePartitionWriter writer(folder / "sums", 1, {0, 3}, 1, {});
    writer.add(std::vector<std::int32_t>{16706448, 13740628, 1877344});
    const FileEntry entry = writer.finish();
    edit_manifest(folder / "sums", [&](Manifest& m) { m.levels[1].partitions[0] = entry; });
    CHECK(mentions(verify(folder / "sums"), "the row of node 0 is not the sum of its terms"));
  }

  TEST_CASE("an order that is no permutation is refused") {
    const TempDir folder;
    testing::write_store(folder / "s", testing::path_of_three());
    SealedWriter writer({folder / "s", "graph", "order", "order", "order"});
    writer.append_values(std::span<const NodeId>(std::vector<NodeId>{1, 1, 0, 2, 0, 1}));
    const FileEntry entry = writer.finish({3});
    edit_manifest(folder / "s", [&](Manifest& manifest) {
      manifest.order = "degree";
      manifest.order_file = entry;
    });
    CHECK(verify(folder / "s").unreadable());
    edit_manifest(folder / "s", [&](Manifest& manifest) { manifest.order = "none"; });
    CHECK(mentions(verify(folder / "s"), "order"));
  }

  TEST_CASE("splits that overlap or lack labels are false") {
    TinyStore contents = testing::path_of_three();
    contents.train = {0, 1};
    contents.valid = {0};
    const TempDir folder;
    testing::write_store(folder / "s", contents);
    const VerifyReport report = verify(folder / "s");
    CHECK_FALSE(report.unreadable());
    CHECK(mentions(report, "4 splits: node 0 is in train and in valid"));
    CHECK(mentions(report, "4 splits: node 1 is in train and has no label"));
    CHECK(report.findings.size() == 2);
  }

  TEST_CASE("a wrong sum is found, with or without room for the proof of all") {
    const TempDir folder;
    testing::write_store(folder / "s", testing::path_of_three());
    testing::propagate_store(folder / "s", tiny_spec(2));
    // Level 1 of this path is 16706448 13740627 1877344; one unit more in the middle.
    const std::vector<std::int32_t> wrong{16706448, 13740628, 1877344};
    StatePartitionWriter writer(folder / "s", 1, {0, 3}, 1, {});
    writer.add(wrong);
    const FileEntry entry = writer.finish();
    edit_manifest(folder / "s", [&](Manifest& manifest) { manifest.levels[1].partitions[0] = entry; });
    const VerifyReport report = verify(folder / "s", std::nullopt, true);
    CHECK_FALSE(report.unreadable());
    const std::string expected =
        "4 propagation: level 1, partition 0 (nodes at positions 0 to 2): the row of node 1 is not the sum of "
        "its terms; `repair` makes them anew\n";
    CHECK(mentions(report, expected.substr(0, expected.size() - 1)));
    // All rows are proved together, whatever the sample; then the wrong ones are looked for.
    CHECK(text_of(verify(folder / "s", 0)) == expected);
    // The least memory that opens the store has no room for the proof.
    VerifyOptions all;
    all.sample.reset();
    for (std::uint64_t bytes = 64;; bytes += 64) {
      MemoryBudget little(bytes);
      VerifyReport found;
      try {
        found = verify_store(folder / "s", all, little);
      } catch (const ResourceError&) {
        continue;
      }
      REQUIRE(found.remarks.size() == 1);
      CHECK(found.remarks[0].starts_with("propagation: the sums of all rows were not proved: "));
      CHECK(mentions(found, "4 sums: level 1, node 1, column 0: the sum is 13740628, its terms add up to 13740627"));
      break;
    }
  }

  TEST_CASE("a row that a level should not keep, one that it lacks, and a wrong count are false") {
    const TempDir folder;
    testing::write_store(folder / "s", testing::path_of_three());
    testing::propagate_store(folder / "s", tiny_spec(2, false));
    CHECK(verify(folder / "s").ok());
    const std::string good = read_all(folder / "s" / "manifest.json");
    const std::vector<std::uint64_t> members{0b110};  // the targets are 0 and 2
    const std::vector<std::int32_t> rows{13872105, 5518881};
    StatePartitionWriter writer(folder / "s", 2, {0, 3}, 1, members);
    writer.add(rows);
    const FileEntry entry = writer.finish();
    edit_manifest(folder / "s", [&](Manifest& manifest) { manifest.levels[2].partitions[0] = entry; });
    CHECK(mentions(verify(folder / "s"), "4 cone: level 2, node 0: the row is missing"));
    CHECK(mentions(verify(folder / "s"), "4 cone: level 2, node 1: the row is not wanted"));

    write_file(folder / "s" / "manifest.json", good);
    const std::vector<std::uint32_t> counts{1, 1, 1};  // node 1 has two readers
    const FileEntry counted = write_counts(folder / "s", 1, counts);
    edit_manifest(folder / "s", [&](Manifest& manifest) { manifest.levels[1].counts = counted; });
    CHECK(text_of(verify(folder / "s")) == "4 cone: level 1, node 1: 1 readers are counted, there are 2\n");
  }

  TEST_CASE("stale rows that nobody left behind are false; malformed ones are refused") {
    const TempDir folder;
    testing::write_store(folder / "s", testing::path_of_three());
    testing::propagate_store(folder / "s", tiny_spec(2));
    const auto put = [&](std::vector<std::byte> values) {
      const StaleRow row{1, static_cast<std::uint8_t>(values.size()), values};
      const FileEntry entry = write_stale(folder / "s", 0, 1, std::span(&row, 1));
      edit_manifest(folder / "s", [&](Manifest& manifest) { manifest.levels[0].stale = entry; });
      return verify(folder / "s");
    };
    const VerifyReport one = put({std::byte{1}});
    CHECK_FALSE(one.unreadable());
    CHECK(mentions(one, "4 propagation: level 1, partition 0 (nodes at positions 0 to 2): 3 rows are not the sums"));
    const VerifyReport largest = put({std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0x80}});
    CHECK(largest.unreadable());
    CHECK(mentions(largest, "above twice the scale"));
  }

  TEST_CASE("published values above the scale are false, though sums and stale rows agree") {
    const TempDir folder;
    testing::write_store(folder / "s", testing::path_of_three());
    testing::propagate_store(folder / "s", tiny_spec(2));
    constexpr std::int32_t kShift = std::int32_t{1} << 25;  // twice the scale
    const std::vector<std::byte> values{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0xFE}};
    const StaleRow row{1, static_cast<std::uint8_t>(values.size()), values};
    const FileEntry stale = write_stale(folder / "s", 0, 1, std::span(&row, 1));
    const std::vector<std::int32_t> sums{16706448 + kShift, 13740627 + kShift, 1877344 + kShift};
    std::vector<std::int32_t> terms;
    for (const std::size_t i : {0U, 1U, 2U})
      terms.push_back(static_cast<std::int32_t>(std::nearbyint(sums[i] / (i == 1 ? 3.0 : 2.0))));
    const std::vector<std::int32_t> above{terms[0] + terms[1], terms[0] + terms[1] + terms[2], terms[1] + terms[2]};
    const auto write = [&](std::uint32_t level, const std::vector<std::int32_t>& rows) {
      StatePartitionWriter writer(folder / "s", level, {0, 3}, 1, {});
      writer.add(rows);
      return writer.finish();
    };
    const FileEntry first = write(1, sums), second = write(2, above);
    edit_manifest(folder / "s", [&](Manifest& manifest) {
      manifest.levels[0].stale = stale;
      manifest.levels[1].partitions[0] = first;
      manifest.levels[2].partitions[0] = second;
    });
    const std::string found = text_of(verify(folder / "s"));
    CAPTURE(found);
    CHECK(found.find("4 propagation: level 2, partition 0") == 0);
  }
}

}  // namespace
}  // namespace unweave

// tests/algorithms/propagation/golden_test.cpp - the bytes of every format, and the dumps in
// storage/FORMAT.md.
//
// tests/golden/path is a propagated store; tests/golden/formats holds the files that only larger or
// streamed stores have. A change of format is a new version: with UNWEAVE_WRITE_GOLDEN set, missing
// files are written.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/verification/verify.h"
#include "engine/graph/contents.h"
#include "engine/ingest/store_import.h"
#include "storage/formats/class_names.h"
#include "storage/formats/expiry_file.h"
#include "storage/formats/feature_file.h"
#include "storage/formats/feature_writer.h"
#include "storage/formats/journal.h"
#include "storage/formats/manifest.h"
#include "storage/formats/name_file.h"
#include "storage/formats/node_file.h"
#include "storage/formats/order_file.h"
#include "storage/formats/recorded_file.h"
#include "storage/formats/rows_file.h"
#include "storage/formats/rows_image.h"
#include "storage/formats/run_file.h"
#include "storage/formats/shard.h"
#include "storage/formats/state_file.h"
#include "storage/formats/tile_file.h"
#include "storage/formats/whole_graph_file.h"
#include "storage/io/write_behind.h"
#include "support/changed_world.h"
#include "support/feature_files.h"
#include "support/input_files.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::read_all;
using testing::SparseRows;
using testing::TempDir;
using testing::write_dense_features;
using testing::write_file;
using testing::write_sparse_features;

const fs::path kGolden = fs::path(UNWEAVE_SOURCE_DIR) / "tests" / "golden";

/// Three nodes, the second one without a name.
NameEntries example_names(const fs::path& store) {
  NameWriter names(store);
  for (const char* const name : {"ann", "", "bob"}) names.add(name);
  NameEntries entries;
  entries.names = names.finish();
  std::vector<std::pair<std::uint64_t, NodeId>> hashes{{name_hash("ann"), 0}, {name_hash("bob"), 2}};
  std::sort(hashes.begin(), hashes.end());
  NameIndexWriter index(store, 3, hashes.size());
  for (const auto& [hash, id] : hashes) index.add(hash, id);
  entries.index = index.finish();
  return entries;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& item : fs::recursive_directory_iterator(folder))
    if (item.is_regular_file() && item.path().filename() != "lock")
      names.push_back(fs::relative(item.path(), folder).string());
  std::sort(names.begin(), names.end());
  return names;
}

void compare_with_golden(const fs::path& made, const std::string& name) {
  const fs::path golden = kGolden / name;
  if (std::getenv("UNWEAVE_WRITE_GOLDEN") != nullptr) {
    for (const std::string& file : names_in(made)) {
      if (fs::exists(golden / file)) continue;
      fs::create_directories((golden / file).parent_path());
      fs::copy_file(made / file, golden / file);
    }
  }
  REQUIRE(names_in(made) == names_in(golden));
  for (const std::string& file : names_in(made)) {
    CAPTURE(file);
    CHECK(read_all(made / file) == read_all(golden / file));
  }
}

constexpr std::int64_t kWide = std::int64_t{3} << 32;

constexpr std::array<std::int32_t, 2> kNarrowRow{-1, 7};
constexpr std::array<std::int64_t, 2> kWideRow{kWide, -2};

Run example_run() {
  Run run;
  run.narrow_nodes = {4};
  run.wide_nodes = {1};
  run.dropped = {6};
  run.count_nodes = {2, 6};
  run.count_values = {5, 0};
  return run;
}

Changes example_changes() {
  Changes changes;
  changes.removed = {{0, 1}};
  changes.inserted = {{0, 2}, {1, 2}};
  changes.cleared = {2};
  return changes;
}

/// Two rows of three features, two labels and two splits that were set after node 2 was cleared.
Changes example_sets() {
  const auto row = [](NodeId node, const std::vector<float>& values) {
    return SetRow{node, std::make_shared<const std::vector<std::uint32_t>>(pack_row(values))};
  };
  Changes changes;
  changes.cleared = {2};
  changes.labels = {{1, kNoLabel}, {2, 1}};
  changes.splits = {{1, SplitName::none}, {2, SplitName::train}};
  changes.rows = {row(0, {0, 0.5F, 0}), row(2, {0.5F, -0.25F, 0})};
  return changes;
}

/// Node 0 was removed, and had a name.
Changes example_loss() {
  Changes changes;
  changes.removed = {{0, 1}};
  changes.inserted = {{1, 2}};
  changes.cleared = {0};
  changes.lost_names = {0};
  return changes;
}

/// Node 2 has left its graph, which has another class and is in no split.
Changes example_of_graphs() {
  Changes changes;
  changes.cleared = {2};
  changes.graphs.of_nodes = {{2, kNoGraph}};
  changes.graphs.labels = {{1, 0}};
  changes.graphs.splits = {{1, SplitName::none}};
  return changes;
}

std::vector<JournalBatch> example_batches() {
  return {{0, ThresholdScale::absolute, {{RequestKind::remove_edge, 0, 1}, {RequestKind::remove_node, 2, 0}}},
          {0.001, ThresholdScale::paper, {{RequestKind::insert_edge, 1, 2}}},
          {0, ThresholdScale::absolute, {{RequestKind::remove_feature, 1, 0, "r7", ""}}, 1'790'000'000'123}};
}

/// Nodes 0..9, of which 1, 4 and 9 have rows of two columns; that of 4 is wide.
FileEntry write_example_state(const fs::path& store) {
  const std::vector<std::uint64_t> members{0b10'0001'0010};
  const std::vector<std::int32_t> first{1, -1}, last{2, 3};
  const std::vector<std::int64_t> wide{kWide, 5};
  StatePartitionWriter writer(store, 2, {0, 10}, 2, members);
  writer.add(first);
  writer.add_wide(4, wide);
  writer.add(last);
  return writer.finish();
}

constexpr KeptForm kExampleForm{Keep::hops, FeatureType::f16, 3};

/// Nodes 0..9, of which 1, 4 and 9 have rows of three columns.
FileEntry write_example_rows(const fs::path& store) {
  RowsImage image(store, 2, {0, 10}, 3, kExampleForm, {0b10'0001'0010}, nullptr);
  const std::vector<NodeId> nodes{1, 4, 9};
  const std::vector<float> values{1, -0.5F, 0.25F, 0, 2, -2, 1.0F / 3.0F, 0x1p-24F, -1};
  std::vector<Half> halves(values.size());
  REQUIRE(round_to_halves(values, kExampleForm.exponent, halves.data()) == values.size());
  image.put(nodes, 0, 3, std::as_bytes(std::span(halves)).data());
  return image.publish();
}

constexpr const char* kExampleTile =
    "tiles/0123456789abcdef-fedcba9876543210/level-0001-columns-0000000002-0000000003.tile";
constexpr std::string_view kExampleText = "contents 0123456789abcdef\nhops 2\n";

/// Columns 2 and 3 of level 1, of the rows of nodes 1, 4 and 9; that of 4 is wide.
void write_example_tile(const fs::path& store) {
  const fs::path folder = (store / kExampleTile).parent_path();
  fs::create_directories(folder);
  constexpr std::size_t kSegments = 4;
  alignas(WriteBehind::kAlignment) static std::array<std::byte, kSegments * WriteBehind::kAlignment> memory;
  WriteBehind queue(memory, WriteBehind::kAlignment);
  TileImage tile(folder, {1, 2, 2, 3}, kExampleText, queue);
  constexpr std::array<std::int32_t, 6> kRows{1, -1, 0, 0, 2, 3};
  constexpr std::array<std::int64_t, 2> kWideSums{kWide, 5};
  tile.put(0, 0, std::as_bytes(std::span(kRows)));
  tile.put_wide(4, kWideSums.data());
  constexpr std::array<std::uint64_t, 8> kNorms{1, 0, 2, 0, 3, 0, 4, 0};
  constexpr std::array<std::byte, 3> kProof{std::byte{7}, std::byte{8}, std::byte{9}};
  tile.finish(std::as_bytes(std::span(kNorms)), kProof);
  queue.drain();
  tile.publish();
}

/// Three rows, of which the second one alone has values.
FileEntry write_example_packed(const fs::path& store) {
  DenseFeatureWriter writer(store, {0, 3}, 4, {false, FeatureType::f32, true}, 1 << 20);
  writer.add(std::vector<float>{0, 0, 0, 0, 0.5F, 0, 0, -0.25F, 0, 0, 0, 0});
  return writer.finish();
}

TEST_SUITE("golden") {
  TEST_CASE("a propagated store") {
    const TempDir folder;
    testing::write_store(folder / "path", testing::path_of_three());
    testing::propagate_store(folder / "path", testing::tiny_spec(2));
    compare_with_golden(folder / "path", "path");
  }

  TEST_CASE("a store that keeps rows in place of sums, and its digest") {
    const TempDir folder;
    testing::write_store(folder / "kept", testing::path_of_three());
    PropagationSpec spec = testing::tiny_spec(2);
    spec.kept = {Keep::embedding, FeatureType::f32, 0};
    testing::propagate_store(folder / "kept", spec);
    compare_with_golden(folder / "kept", "kept");
    CHECK(verify_store(kGolden / "kept", {std::nullopt, true}, testing::ample_budget()).ok());
    const StoreReader store(kGolden / "kept", testing::ample_budget());
    CHECK(digest_text(content_digest(store)) == "973bdbfdbbf0d06d9d3496d75d9037dc02ed59b51e106376a897aa94f3f45145");
  }

  TEST_CASE("stores whose edges have directions, or are of several kinds") {
    const TempDir dir;
    ImportOptions options;
    options.nodes = 3;
    options.features = InputFile{write_file(dir / "x.txt", "0.5 0\n0 0.25\n1 0\n"), {}};
    options.labels = InputFile{write_file(dir / "y.txt", "1\n-1\n0\n"), {}};
    options.train = InputFile{write_file(dir / "t.txt", "2\n0\n"), {}};
    ImportOptions directed = options;
    directed.layers.directed = true;
    directed.edges = InputFile{write_file(dir / "arcs.txt", "# arcs\n0 1\n1 0\n2 1\n"), {}};
    ImportOptions kinds = options;
    kinds.types = {{"paper", 2}, {"author", 1}};
    kinds.layers.relations = {{"cites"}, {"writes"}};
    kinds.layers.subsets = {{0, 1}};
    kinds.relations = {{InputFile{write_file(dir / "cites.txt", "# edges\n0 1\n"), {}}},
                       {InputFile{write_file(dir / "writes.txt", "# edges\n2 0\n1 0\n"), {}}}};
    ImportOptions arcs = kinds;
    arcs.layers.directed = true;
    arcs.layers.relations[1].ends = EndTypes{1, 0};
    arcs.relations[1].file = InputFile{write_file(dir / "within.txt", "# arcs\n0 0\n0 1\n"), {}};
    const std::pair<const char*, const ImportOptions*> stores[] = {
        {"directed", &directed}, {"kinds", &kinds}, {"arcs-of-kinds", &arcs}};
    for (const auto& one : stores) {
      const std::string name = one.first;
      CAPTURE(name);
      WorkMeter nobody;
      import_store(dir / name, *one.second, testing::ample_budget(), nobody);
      testing::propagate_store(dir / name, testing::tiny_spec(1, true, 1));
      compare_with_golden(dir / name, "layers/" + name);
      CHECK(verify_store(kGolden / "layers" / name, {std::nullopt, true}, testing::ample_budget()).ok());
    }
  }

  TEST_CASE("a store of real weights, what a stream changes of them, and its digest") {
    const TempDir dir;
    ImportOptions options;
    options.nodes = 4;
    options.edges = InputFile{write_file(dir / "edges.txt", "0 1 0.75\n1 2 75\n2 3 63.9990234375\n"), {}};
    options.max_weight = kMostWeight;
    options.weight_unit = WeightUnit{-9, 512};
    options.features = InputFile{write_file(dir / "x.txt", "0.5\n0.25\n-1\n0\n"), {}};
    options.labels = InputFile{write_file(dir / "y.txt", "1\n-1\n0\n1\n"), {}};
    options.train = InputFile{write_file(dir / "t.txt", "2\n0\n"), {}};
    WorkMeter nobody;
    import_store(dir / "real", options, testing::ample_budget(), nobody);
    testing::propagate_store(dir / "real", testing::tiny_spec(1, true, 1));
    compare_with_golden(dir / "real", "real/imported");
    fs::copy(kGolden / "real" / "imported", dir / "streamed", fs::copy_options::recursive);
    {
      StoreWriter store(dir / "streamed", testing::ample_budget());
      const auto requests =
          testing::requests_of({"set-weight 1 2 0.5", "edge 0 1", "insert-edge 0 3 weight 100"}, true);
      store.apply(requests, store.resolve(requests), {});
      store.checkpoint();
    }
    const Manifest streamed = read_manifest(dir / "streamed");
    fs::create_directories(dir / "changes");
    fs::copy(dir / "streamed" / streamed.changes->path, dir / "changes");
    compare_with_golden(dir / "changes", "real/changes");
    Changes wanted;
    wanted.removed = {{0, 1, 384}, {1, 2, 38144}};
    wanted.inserted = {{0, 3, 51200}};
    CHECK(read_changes(dir / "streamed", *streamed.changes, changes_scope(streamed)) == wanted);
    for (const fs::path& store : {kGolden / "real" / "imported", dir / "streamed"})
      CHECK(verify_store(store, {std::nullopt, true}, testing::ample_budget()).ok());
    CHECK(digest_text(content_digest(StoreReader(kGolden / "real" / "imported", testing::ample_budget()))) ==
          "c137ef3f8f4c1d8fea6b852c7e55f91c66a6ebe0affe431278569da5ecff28a2");
    CHECK(digest_text(content_digest(StoreReader(dir / "streamed", testing::ample_budget()))) ==
          "bfe0aff163d7c8851392b12ee428625f37e83d27a5efa4225baba1a37b59ee0a");
  }

  TEST_CASE("its integers and its digest") {
    const fs::path path = kGolden / "path";
    CHECK(verify_store(path, {std::nullopt, true}, testing::ample_budget()).ok());
    const StoreReader store(path, testing::ample_budget());
    const std::vector<std::vector<std::int64_t>> sums{{16706448, 13740627, 1877344}, {12933433, 13872105, 5518881}};
    const std::vector<std::int32_t> densities{11863283, 4843165, -2965821};
    for (NodeId node = 0; node < 3; ++node) {
      std::int32_t t = 0;
      store.embedding().normalised_sums(0, node, &t);
      CHECK(t == densities[node]);
      for (std::uint32_t level = 1; level <= 2; ++level) {
        std::int64_t sum = 0;
        REQUIRE(store.embedding().level(level).load(node, &sum));
        CHECK(sum == sums[level - 1][node]);
      }
    }
    CHECK(digest_text(content_digest(store)) == "606d5da51fb508194624b123be8ad4f9a7cd95954070732ba791bd71de5d9c46");
  }

  TEST_CASE("files that only larger or streamed stores have, written and read") {
    const TempDir folder;
    const fs::path store = folder / "formats";
    SparseRows sparse;
    sparse.offsets = {0, 2, 2, 3};
    sparse.columns = {0, 3, 1};
    sparse.values = {0.5F, -0.25F, 1.0F};
    const FileEntry features = write_sparse_features(store, {0, 3}, 4, sparse);
    const FileEntry sparse16 = write_sparse_features(store, {0, 3}, 4, sparse, FeatureType::f16);
    const std::vector<float> third{1.0F, -1.0F / 3.0F, 0x1.8p-24F};
    const FileEntry dense16 = write_dense_features(store, {0, 3}, 1, third, FeatureType::f16);
    const FileEntry packed = write_example_packed(store);
    const FileEntry state = write_example_state(store);
    const FileEntry rows16 = write_example_rows(store);
    const FileEntry order = write_order(store, std::vector<NodeId>{2, 0, 1});
    const NameEntries names = example_names(store);
    const FileEntry labels =
        write_named_labels(store, std::vector<std::int32_t>{0, kNoLabel, 1}, {"cat", "O'Brien, Pat"});
    const FileEntry changes = write_changes(store, example_changes());
    const FileEntry sets = write_changes(store, example_sets());
    const FileEntry loss = write_changes(store, example_loss());
    const FileEntry of_graphs = write_changes(store, example_of_graphs(), true);
    const FileEntry graphs = write_graphs_of_nodes(store, std::vector<std::int32_t>{0, kNoGraph, 1});
    const std::vector<Expiry> ends{{{0, 1}, 1'790'000'000'123}, {{0, 2}, 0}};
    const FileEntry expiries = write_expiries(store, ends);
    const std::vector<Expiry> noted{
        {{0, 1}, 1'790'000'000'123, "T7"}, {node_item(2), 1'790'000'000'124}, {feature_item(1), 0, "T9"}};
    const FileEntry notes = write_expiries(store, noted);
    const FileEntry run = write_run(store, 1, 2, example_run(), [](NodeId node) {
      return node == 4 ? StateRow{kNarrowRow.data(), nullptr} : StateRow{nullptr, kWideRow.data()};
    });
    {
      write_ids(store, "targets", std::vector<NodeId>{1, 2}, "state");
      ShardWriter lists(store, {0, 2}, 3, 1, 1 << 20, ShardOf::targets);  // lists of the path 0 - 1 - 2
      lists.add(std::vector<NodeId>{0, 2});
      lists.add(std::vector<NodeId>{1});
      lists.finish();
    }
    const FileEntry counts = write_counts(store, 1, std::vector<std::uint32_t>{2, 0, 1});
    const std::vector<std::byte> narrow{std::byte{1}, std::byte{0xFF}};
    const std::vector<std::byte> wider{std::byte{0}, std::byte{1}, std::byte{0}, std::byte{0x81}};
    const std::vector<StaleRow> rows{{0, 1, narrow}, {2, 2, wider}};
    const FileEntry stale = write_stale(store, 0, 2, rows);
    {
      Journal journal = Journal::create(store, "after-00000000000000000000-0123456789abcdef.log", 0);
      for (const JournalBatch& batch : example_batches()) journal.append(batch);
    }
    write_example_tile(store);
    compare_with_golden(store, "formats");

    const fs::path golden = kGolden / "formats";
    FeatureFile(golden, features, {0, 3}, 4, {true}).verify();
    FeatureFile(golden, sparse16, {0, 3}, 4, {true, FeatureType::f16}).verify();
    const FeatureFile one_row(golden, packed, {0, 3}, 4, {false, FeatureType::f32, true});
    one_row.verify();
    std::vector<float> all_rows(12);
    one_row.read({0, 3}, 0, 4, all_rows.data());
    CHECK(all_rows == std::vector<float>{0, 0, 0, 0, 0.5F, 0, 0, -0.25F, 0, 0, 0, 0});
    const FeatureFile halves(golden, dense16, {0, 3}, 1, {false, FeatureType::f16});
    halves.verify();
    std::vector<float> kept(3);
    halves.read({0, 3}, 0, 1, kept.data());
    CHECK(kept == std::vector<float>{1.0F, -0x1.554p-2F, 0x1p-24F});  // rounded toward zero
    const OrderFile order_file(golden, order, 3);
    order_file.verify();
    CHECK(order_file.position(0) == 2);
    CHECK(order_file.user(0) == 1);
    const NameList list(golden, names.names, 3);
    list.verify();
    const NameIndex index(golden, names.index, list);
    index.verify();
    CHECK(list.name(2) == "bob");
    CHECK(index.find("ann") == 0);
    CHECK(index.find("") == kNoNode);
    CHECK(read_labels(golden, labels, 3, 2) == std::vector<std::int32_t>{0, kNoLabel, 1});
    CHECK(read_class_names(golden, labels, 3, 2) == std::vector<std::string>{"cat", "O'Brien, Pat"});
    const StatePartition partition(golden, state, 2, {0, 10}, 2);
    partition.verify();
    CHECK(partition.row(4).wide[0] == kWide);
    CHECK(partition.row(9).narrow[1] == 3);
    CHECK_FALSE(partition.row(0).exists());
    const RowsFile kept_rows(golden, rows16, 2, {0, 10}, 3, kExampleForm);
    kept_rows.verify();
    std::vector<float> kept_row(3);
    REQUIRE(kept_rows.read(9, kept_row.data()));
    CHECK(kept_row == std::vector<float>{0x1.554p-2F, 0x1p-24F, -1});
    CHECK_FALSE(kept_rows.contains(2));
    CHECK(read_changes(golden, changes, {3, 0, 0}) == example_changes());
    CHECK(read_changes(golden, sets, {3, 3, 2}) == example_sets());
    CHECK(read_changes(golden, loss, {3, 0, 0, 1, true}) == example_loss());
    CHECK(read_changes(golden, of_graphs, {3, 0, 2, 1, false, 2}) == example_of_graphs());
    CHECK(count_changes(golden, of_graphs, true).graphs == 3);
    CHECK(read_graphs_of_nodes(golden, graphs, 3, 2) == std::vector<std::int32_t>{0, kNoGraph, 1});
    CHECK(read_expiries(golden, expiries, 3) == ends);
    CHECK(read_expiries(golden, notes, 3) == noted);
    const StoredRun again = read_run(golden, run, 1, 2, 7);
    CHECK(std::ranges::equal(again.wide_rows, kWideRow));
    CHECK(std::ranges::equal(again.narrow_rows, kNarrowRow));
    CHECK(std::ranges::equal(again.dropped, example_run().dropped));
    CHECK(std::ranges::equal(again.count_values, example_run().count_values));
    SealedFile(golden, counts, "counts").check_all();
    std::vector<SealedFile> holder;
    CHECK(read_stale(golden, stale, 0, 2, 3, holder).size() == 2);
    const TileFile tile(golden / kExampleTile, 10);
    tile.verify();
    CHECK(tile.text() == kExampleText);
    CHECK(tile.shape() == TileShape{1, 2, 2, 3});
    CHECK(std::ranges::equal(tile.wide_nodes(), std::vector<NodeId>{4}));
    CHECK(tile.wide_row(0)[0] == kWide);
    CHECK(tile.proof().size() == 3);
    std::vector<JournalBatch> batches;
    const std::string journal = "journal/after-00000000000000000000-0123456789abcdef.log";
    read_journal(golden, record_file(golden, journal, journal_bytes(0, 0)), 0,
                 [&](const JournalBatch& one) { batches.push_back(one); });
    CHECK(batches == example_batches());
  }

  TEST_CASE("the dumps in FORMAT.md are those files") {
    // "Dump of `path`" or "Payload of `path`", then indented lines: bytes in hex, two blanks or
    // more, words.
    std::istringstream text(read_all(fs::path(UNWEAVE_SOURCE_DIR) / "storage" / "FORMAT.md"));
    std::string line, shown, name;
    bool payload_only = false;
    std::size_t dumps = 0;
    const auto finish = [&] {
      if (name.empty()) return;
      CAPTURE(name);
      std::string wanted = read_all(kGolden / name);
      if (payload_only) {
        std::uint64_t bytes = 0;
        REQUIRE(wanted.size() > kSealedHeaderBytes);
        std::memcpy(&bytes, wanted.data() + 24, sizeof bytes);
        wanted = wanted.substr(kSealedHeaderBytes, bytes);
      }
      CHECK_FALSE(shown.empty());
      CHECK(shown == wanted);
      ++dumps;
      name.clear();
      shown.clear();
    };
    while (std::getline(text, line)) {
      const bool whole = line.starts_with("Dump of `");
      if (whole || line.starts_with("Payload of `")) {
        finish();
        const std::size_t first = line.find('`') + 1;
        name = line.substr(first, line.find('`', first) - first);
        payload_only = !whole;
      } else if (line.starts_with("    ") && !name.empty()) {
        std::istringstream bytes(line.substr(4, line.find("  ", 4) - 4));
        for (std::string byte; bytes >> byte;) {
          if (byte.starts_with('x'))  // how often the byte before it is there
            shown.append(std::stoul(byte.substr(1)) - 1, shown.back());
          else
            shown += static_cast<char>(std::stoi(byte, nullptr, 16));
        }
      } else if (!line.empty()) {
        finish();
      }
    }
    finish();
    CHECK(dumps == 28);
  }
}

}  // namespace
}  // namespace unweave

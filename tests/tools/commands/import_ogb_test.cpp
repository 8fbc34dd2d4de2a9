// tests/tools/commands/import_ogb_test.cpp - `import --ogb`: both layouts give the store that plain
// files give, or one error.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/ogb_sample.h"
#include "support/process.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::gzipped;
using testing::npy;
using testing::OgbSample;
using testing::Result;
using testing::run;
using testing::TempDir;
using testing::write_file;
using Words = std::vector<std::string>;

nlohmann::json json_of(const Words& words) {
  const Result result = run(words);
  CAPTURE(result.error);
  REQUIRE(result.code == 0);
  return nlohmann::json::parse(result.out);
}

nlohmann::json import_ogb(const fs::path& store, const fs::path& folder, const Words& more = {}) {
  Words words{"import", store.string(), "--json", "--ogb", folder.string()};
  words.insert(words.end(), more.begin(), more.end());
  return json_of(words);
}

std::string digest(const fs::path& store) {
  return json_of({"info", store.string(), "--json"}).at("digest");
}

/// The data by the other options: pairs with tabs, arrays, ids as text.
Words plain_words(const fs::path& dir, const OgbSample& sample) {
  std::string edges;
  for (const Edge& edge : sample.edges) edges += std::to_string(edge.u) + "\t" + std::to_string(edge.v) + "\n";
  Words words{"--nodes",    std::to_string(sample.nodes),
              "--edges",    write_file(dir / "e.tsv", edges).string(),
              "--features", write_file(dir / "x.npy", sample.feature_array()).string()};
  if (sample.labels.empty()) return words;
  words.insert(words.end(), {"--labels", write_file(dir / "y.txt", sample.label_text("-1")).string(), "--split",
                             "train=" + write_file(dir / "a", testing::id_text(sample.train)).string() +
                                 ",valid=" + write_file(dir / "b", testing::id_text(sample.valid)).string() +
                                 ",test=" + write_file(dir / "c", testing::id_text(sample.test)).string()});
  return words;
}

void import_plainly(const fs::path& store, const TempDir& dir, const OgbSample& sample, const Words& more = {}) {
  Words words = plain_words(dir.path(), sample);
  words.insert(words.begin(), {"import", store.string(), "--json"});
  words.insert(words.end(), more.begin(), more.end());
  json_of(words);
}

void check_same(const fs::path& store, const fs::path& expected) {
  CHECK(digest(store) == digest(expected));
  CHECK(testing::folder_bytes(store) == testing::folder_bytes(expected));
}

/// Values that float16 holds, and their bits.
void use_halves(OgbSample& sample) {
  for (float& value : sample.features) value = std::rint(std::fmod(value, 8.0F) * 64.0F) / 64.0F;
}
std::string half_array(const OgbSample& sample) {
  std::vector<std::uint16_t> halves;
  for (const float value : sample.features) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    const std::uint32_t sign = bits >> 31 << 15;
    const std::uint32_t magnitude = value == 0 ? 0 : (bits << 1 >> 14) - ((127U - 15U) << 10);
    halves.push_back(static_cast<std::uint16_t>(sign | magnitude));
  }
  return npy("<f2", "(" + std::to_string(sample.nodes) + ", " + std::to_string(sample.columns) + ")", halves);
}

enum class Layout { kText, kArrays };

/// A folder of the sample in which `spoil` breaks something is refused with the parts, and no store
/// is left.
void check_spoilt(Layout layout, const std::function<void(const fs::path&)>& spoil, const Words& parts,
                  const Words& more = {}) {
  const TempDir dir;
  const fs::path folder = dir / "ogbn_sample";
  layout == Layout::kText ? testing::write_ogb_text(folder, {}) : testing::write_ogb_arrays(folder, {}, true);
  spoil(folder);
  Words words{"import", (dir / "store").string(), "--ogb", folder.string()};
  words.insert(words.end(), more.begin(), more.end());
  const Result result = run(words);
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  testing::check_message(result.error.substr(0, result.error.size() - 1), parts);
  CHECK(!fs::exists(dir / "store"));
}

/// raw/NAME, decompressed text, replaced.
std::function<void(const fs::path&)> text_file(const std::string& name, const std::string& text) {
  return [=](const fs::path& folder) { write_file(folder / name, gzipped(text)); };
}

/// A member of raw/data.npz replaced; left out where `bytes` is empty.
std::function<void(const fs::path&)> member(const std::string& name, const std::string& bytes) {
  return [=](const fs::path& folder) {
    testing::ZipMembers members;
    for (auto& [known, content] : testing::ogb_members({})) {
      if (known != name + ".npy") members.emplace_back(known, content);
      if (known == name + ".npy" && !bytes.empty()) members.emplace_back(known, bytes);
    }
    testing::write_zip(folder / "raw" / "data.npz", members, false);
  };
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("both layouts of OGB give the store that the same data give by the other options") {
    OgbSample sample;
    for (const bool halves : {false, true}) {
      if (halves) use_halves(sample);
      const TempDir dir;
      const fs::path plain = dir / "plain";
      import_plainly(plain, dir, sample);
      const auto json = json_of({"info", plain.string(), "--json"});
      CHECK(json["nodes"] == 7);
      CHECK(json["edges"] == 4);
      for (const std::string none : {"", "nan", "\"\"", "-1"}) {
        CAPTURE(none);
        testing::write_ogb_text(dir / ("text" + none), sample, none);
        const auto report = import_ogb(dir / ("text-store" + none), dir / ("text" + none));
        CHECK(report["edges_read"] == 7);
        CHECK(report["self_loops"] == 1);
        CHECK(report["duplicates"] == 2);
        CHECK(report["classes"] == 3);
        CHECK(report["unlabelled_split_ids"] == 1);
        check_same(dir / ("text-store" + none), plain);
      }
      for (const bool deflate : {false, true}) {
        const std::string name = deflate ? "deflated" : "stored";
        testing::write_ogb_arrays(dir / name, sample, deflate);
        if (halves) member("node_feat", half_array(sample))(dir / name);
        import_ogb(dir / (name + ".store"), dir / name);
        check_same(dir / (name + ".store"), plain);
      }
    }
  }

  TEST_CASE("OGB: --classes and --standardize go along") {
    const TempDir dir;
    const OgbSample sample;
    import_plainly(dir / "plain", dir, sample, {"--classes", "9", "--standardize"});
    testing::write_ogb_text(dir / "text", sample);
    testing::write_ogb_arrays(dir / "arrays", sample, false);
    for (const std::string name : {"text", "arrays"}) {
      const auto report = import_ogb(dir / (name + ".store"), dir / name, {"--classes", "9", "--standardize"});
      CHECK(report["classes"] == 9);
      check_same(dir / (name + ".store"), dir / "plain");
    }
  }

  TEST_CASE("OGB: an edge_index of two edges is two rows, sources and targets") {
    const TempDir dir;
    OgbSample sample;
    sample.edges = {{0, 1}, {2, 3}};
    import_plainly(dir / "plain", dir, sample);
    testing::write_ogb_arrays(dir / "arrays", sample, false);
    import_ogb(dir / "store", dir / "arrays");
    check_same(dir / "store", dir / "plain");
  }

  TEST_CASE("OGB: labels and splits may be missing, and other folders and files are no matter") {
    const TempDir dir;
    OgbSample sample;
    testing::write_ogb_text(dir / "both", sample);
    fs::create_directories(dir / "both" / "split" / "empty");
    fs::create_directories(dir / "both" / "mapping");
    write_file(dir / "both" / "split" / "notes.txt", "x");
    import_plainly(dir / "plain", dir, sample);
    import_ogb(dir / "with", dir / "both");
    check_same(dir / "with", dir / "plain");
    int stores = 0;
    const auto note_of = [&](const char* folder) {
      return run({"import", (dir / std::to_string(++stores)).string(), "--ogb", (dir / folder).string()}).error;
    };
    const std::string missing = " has no files of these, nor has the store now: ";
    CHECK(note_of("both").find(missing) == std::string::npos);

    fs::remove(dir / "both" / "split" / "time" / "valid.csv.gz");
    CHECK(note_of("both").find("note: " + (dir / "both").string() + missing + "valid\n") != std::string::npos);
    import_ogb(dir / "partly", dir / "both");
    CHECK(json_of({"info", (dir / "partly").string(), "--json"}) !=
          json_of({"info", (dir / "with").string(), "--json"}));
    fs::remove_all(dir / "both" / "split");
    CHECK(import_ogb(dir / "unsplit", dir / "both")["unlabelled_split_ids"] == 0);

    sample.labels.clear();
    import_plainly(dir / "plain-unlabelled", dir, sample);
    testing::write_ogb_text(dir / "text", sample);
    testing::write_ogb_arrays(dir / "arrays", sample, false);
    CHECK(note_of("text").find(missing + "labels, train, valid, test\n") != std::string::npos);
    for (const std::string name : {"text", "arrays"}) {
      CHECK(import_ogb(dir / (name + ".store"), dir / name)["classes"] == 0);
      check_same(dir / (name + ".store"), dir / "plain-unlabelled");
    }
  }

  TEST_CASE("OGB: the example of the help works where the folder lies") {
    const TempDir dir;
    testing::write_ogb_text(dir / "dataset" / "ogbn_arxiv", {});
    const std::string help = run({"import", "--help"}).out;
    const std::size_t at = help.find("  unweave import arxiv.store");
    REQUIRE(at != std::string::npos);
    const std::string words = help.substr(at + 9, help.find('\n', at) - at - 9);
    const std::string command = "cd " + dir.path().string() + " && exec > out && " UNWEAVE_BINARY " " + words;
    CHECK(std::system(command.c_str()) == 0);
    CHECK(json_of({"info", (dir / "arxiv.store").string(), "--json"})["nodes"] == 7);
  }

  TEST_CASE("OGB: what the counts say must hold") {
    const Layout text = Layout::kText, arrays = Layout::kArrays;
    check_spoilt(text, text_file("raw/num-edge-list.csv.gz", "8\n"),
                 {"raw/edge.csv.gz: ", "7 edges", "raw/num-edge-list.csv.gz (line 1) says 8"});
    check_spoilt(text, text_file("raw/edge.csv.gz", "0,1\n"), {"raw/edge.csv.gz: ", "1 edges, but", "says 7"});
    check_spoilt(text, text_file("raw/num-node-list.csv.gz", "8\n"), {"raw/node-label.csv.gz", "7 nodes", "says 8"});
    check_spoilt(text,
                 [](const fs::path& folder) {
                   fs::remove(folder / "raw" / "node-label.csv.gz");
                   write_file(folder / "raw" / "num-node-list.csv.gz", gzipped("8\n"));
                 },
                 {"raw/node-feat.csv.gz: after line 7", "7 of 8 rows"});
    check_spoilt(text, text_file("raw/node-feat.csv.gz", OgbSample().feature_text() + "1,2,3\n"),
                 {"raw/node-feat.csv.gz: line 8", "7 rows"});
    check_spoilt(text, text_file("raw/num-node-list.csv.gz", "7\n9\n"), {"num-node-list.csv.gz: line 2", "graph"});
    check_spoilt(text, text_file("raw/num-node-list.csv.gz", "seven\n"), {"num-node-list.csv.gz: line 1", "'seven'"});
    check_spoilt(text, text_file("raw/num-node-list.csv.gz", "0\n"), {"num-node-list.csv.gz: line 1", "0 nodes"});
    check_spoilt(text, text_file("raw/num-edge-list.csv.gz", "7,1\n"), {"num-edge-list.csv.gz: line 1", "'7,1'"});
    check_spoilt(text, text_file("raw/num-edge-list.csv.gz", ""), {"num-edge-list.csv.gz: whole file"});

    const auto count = [](std::int64_t value) { return npy<std::int64_t>("<i8", "(1,)", {value}); };
    check_spoilt(arrays, member("num_edges_list", count(8)),
                 {"raw/data.npz[edge_index]: ", "7 edges", "raw/data.npz[num_edges_list] (element [0]) says 8"});
    check_spoilt(arrays, member("num_nodes_list", count(8)),
                 {"raw/data.npz[node_feat]: rows: 7 nodes", "raw/data.npz[num_nodes_list] (element [0]) says 8"});
    check_spoilt(arrays, member("num_nodes_list", count(-1)), {"[num_nodes_list]: element [0]: -1"});
    check_spoilt(arrays, member("num_nodes_list", npy<std::int64_t>("<i8", "(2,)", {7, 7})),
                 {"[num_nodes_list]", "(2,)", "one graph"});
    check_spoilt(arrays, member("num_edges_list", npy<float>("<f4", "(1,)", {7})), {"[num_edges_list]", "integers"});
    check_spoilt(arrays,
                 [](const fs::path& folder) {
                   testing::write_zip(folder / "raw" / "node-label.npz",
                                      {{"node_label.npy", npy<float>("<f4", "(2, 1)", {0, 1})}}, true);
                 },
                 {"raw/node-label.npz[node_label]", "2 nodes", "says 7"});
  }

  TEST_CASE("OGB: bad values are named with file and place") {
    const Layout text = Layout::kText, arrays = Layout::kArrays;
    check_spoilt(text, text_file("raw/edge.csv.gz", "0,1\n2,7\n"), {"raw/edge.csv.gz: line 2", "node id 7", "7 nodes"});
    check_spoilt(text, text_file("raw/edge.csv.gz", "0,1\n2,3,4\n"),
                 {"raw/edge.csv.gz: line 2", "third number, as of a weight"});
    check_spoilt(text, text_file("raw/node-feat.csv.gz", "1,2\n3,nan\n"),
                 {"node-feat.csv.gz: line 2, column 1", "NaN"});
    check_spoilt(text, text_file("raw/node-feat.csv.gz", "1,2\n-inf,3\n"), {"line 2, column 0", "infinite"});
    check_spoilt(text, text_file("raw/node-feat.csv.gz", "1,2\n3\n"), {"node-feat.csv.gz: line 2", "1 instead of 2"});
    check_spoilt(text, text_file("raw/node-feat.csv.gz", "1,2\n,3\n"), {"node-feat.csv.gz: line 2, column 0", "''"});
    check_spoilt(text, text_file("raw/node-label.csv.gz", "0\n1\n2.5\n"), {"node-label.csv.gz: line 3", "'2.5'"});
    check_spoilt(text, text_file("raw/node-label.csv.gz", "0,1\n1,1\n"), {"node-label.csv.gz: line 1", "count: 2"});
    check_spoilt(text, text_file("split/time/test.csv.gz", "5\n9\n"), {"split/time/test.csv.gz: line 2", "node id 9"});
    check_spoilt(text, text_file("split/time/test.csv.gz", "5\n2\n"), {"test.csv.gz", "node 2", "train.csv.gz"});
    check_spoilt(text, [](const fs::path&) {}, {"node-label.csv.gz: line 1", "label 2", "0..1"}, {"--classes", "2"});

    OgbSample sample;
    sample.edges[4].v = 7;
    check_spoilt(arrays, member("edge_index", sample.edge_array()),
                 {"data.npz[edge_index]: element [1, 4]", "node id 7", "7 nodes"});
    sample.features[4] = std::numeric_limits<float>::quiet_NaN();
    check_spoilt(arrays, member("node_feat", sample.feature_array()), {"data.npz[node_feat]: row 1, column 1", "NaN"});
    check_spoilt(arrays, member("edge_index", npy<std::int64_t>("<i8", "(7, 2)", std::vector<std::int64_t>(14))),
                 {"data.npz[edge_index]", "(7, 2)", "give an array of shape (2, m)"});
    check_spoilt(arrays, member("edge_index", npy<double>("<f8", "(2, 7)", std::vector<double>(14))),
                 {"data.npz[edge_index]", "integers"});
    const std::string whole = OgbSample().edge_array();
    check_spoilt(arrays, member("edge_index", whole.substr(0, whole.size() - 8)), {"element [1, 6]", "cut short"});
  }

  TEST_CASE("OGB: heterogeneous arrays are named as such; weights of edges are refused, or ignored on demand") {
    const TempDir dir;
    fs::create_directories(dir / "mag" / "raw");
    write_file(dir / "mag" / "raw" / "edge_index_dict.npz", "");
    const Result arrays = run({"import", (dir / "store").string(), "--ogb", (dir / "mag").string()});
    CHECK(arrays.code == 2);
    testing::check_message(arrays.error.substr(0, arrays.error.size() - 1),
                           {"edge_index_dict.npz", "heterogeneous", "--relation", "--type"});
    testing::write_ogb_text(dir / "ogbn_sample", {});
    write_file(dir / "ogbn_sample" / "raw" / "edge-feat.csv.gz", gzipped("0.5\n"));
    const std::string folder = (dir / "ogbn_sample").string();
    const Result refused = run({"import", (dir / "store").string(), "--ogb", folder});
    CHECK(refused.code == 2);
    testing::check_message(refused.error.substr(0, refused.error.size() - 1),
                           {"edge-feat", "weights", "--ignore-weights"});
    CHECK(import_ogb(dir / "store", folder, {"--ignore-weights"})["edges"] > 0);
    std::filesystem::rename(dir / "ogbn_sample" / "raw" / "edge-feat.csv.gz",
                            dir / "ogbn_sample" / "raw" / "edge_weight.csv.gz");
    for (const std::vector<std::string>& more : {std::vector<std::string>(), {"--max-weight", "9"}}) {
      std::vector<std::string> words{"import", (dir / "other").string(), "--ogb", folder};
      words.insert(words.end(), more.begin(), more.end());
      const Result other = run(words);
      CHECK(other.code == 2);
      testing::check_message(other.error.substr(0, other.error.size() - 1),
                             {"edge_weight", "weights", "--ignore-weights"});
    }
    CHECK(import_ogb(dir / "other", folder, {"--ignore-weights"})["edges"] > 0);
  }

  TEST_CASE("OGB: folders that are none, or not one") {
    const Layout text = Layout::kText, arrays = Layout::kArrays;
    const auto without = [](const std::string& name) {
      return [=](const fs::path& folder) { fs::remove_all(folder / name); };
    };
    check_spoilt(text, without("raw"), {"ogbn_sample: ", "raw/edge.csv.gz", "raw/data.npz"});
    check_spoilt(text, [](const fs::path& folder) { fs::remove_all(folder); }, {"ogbn_sample: ", "raw/edge.csv.gz"});
    check_spoilt(text, without("raw/node-feat.csv.gz"), {"raw/node-feat.csv.gz: this file is missing"});
    check_spoilt(text, without("raw/num-node-list.csv.gz"), {"raw/num-node-list.csv.gz: this file is missing"});
    check_spoilt(text, without("raw/num-edge-list.csv.gz"), {"raw/num-edge-list.csv.gz: this file is missing"});
    for (const std::string name : {"edge_index", "node_feat", "num_nodes_list", "num_edges_list"})
      check_spoilt(arrays, member(name, ""), {"raw/data.npz: no member " + name});
    check_spoilt(text, [](const fs::path& folder) { write_file(folder / "raw" / "data.npz", "PK"); },
                 {"ogbn_sample/raw: both edge.csv.gz and data.npz"});
    const auto second_split = [](const fs::path& folder) {
      fs::create_directories(folder / "split" / "random");
      write_file(folder / "split" / "random" / "test.csv.gz", gzipped("1\n"));
    };
    check_spoilt(text, second_split, {"ogbn_sample/split: several splits: random, time"});
    check_spoilt(arrays, second_split, {"ogbn_sample/split: several splits: random, time"});
    check_spoilt(arrays,
                 [](const fs::path& folder) {
                   const std::string bytes = testing::read_all(folder / "raw" / "data.npz");
                   write_file(folder / "raw" / "data.npz", bytes.substr(0, bytes.size() / 2));
                 },
                 {"raw/data.npz: ", "cut short"});
    check_spoilt(text, [](const fs::path& folder) { write_file(folder / "raw" / "edge.csv.gz", "0,1\n"); },
                 {"raw/edge.csv.gz: named .gz but"});
  }

  TEST_CASE("--ogb and each option that it replaces exclude each other") {
    const TempDir dir;
    testing::write_ogb_text(dir / "text", {});
    const std::vector<std::pair<std::string, std::string>> others = {
        {"edges", "e"}, {"features", "x"}, {"nodes", "7"}, {"labels", "y"}, {"split", "train=a"}};
    for (const auto& [other, value] : others) {
      const Result result =
          run({"import", (dir / "s").string(), "--ogb", (dir / "text").string(), "--" + other, value});
      CHECK(result.code == 1);
      CHECK(result.error.find("--ogb and --" + other) != std::string::npos);
    }
    CHECK(!fs::exists(dir / "s"));
  }
}

TEST_SUITE("slow") {
  TEST_CASE("a budget of 48 MiB is obeyed where each part of a folder of OGB is larger") {
    OgbSample sample;
    sample.nodes = 60'000;
    sample.columns = 240;
    sample.features.resize(sample.nodes * sample.columns);
    for (std::size_t i = 0; i < sample.features.size(); ++i)
      sample.features[i] = static_cast<float>(i * 7 % 1009) / 128.0F;
    sample.edges.clear();
    for (std::uint64_t i = 0; i < 3'500'000; ++i)
      sample.edges.push_back({static_cast<NodeId>(i * 13 % 60'000), static_cast<NodeId>(i * i % 59'999)});
    sample.labels.assign(sample.nodes, 3);
    const TempDir dir;
    std::string expected;
    for (const std::string layout : {"text", "stored", "deflated"}) {
      CAPTURE(layout);
      const fs::path folder = dir / layout;
      if (layout == "text") testing::write_ogb_text(folder, sample);
      if (layout != "text") testing::write_ogb_arrays(folder, sample, layout == "deflated");
      const fs::path store = dir / (layout + ".store");
      // A process of its own: this one's memory holds the sample.
      const testing::Finished done = testing::run_process(
          {"import", store.string(), "--ogb", folder.string(), "--memory", "48M", "--threads", "2", "--json"});
      CAPTURE(done.error);
      REQUIRE(done.code == 0);
      const auto json = nlohmann::json::parse(done.out);
      CHECK(json["edges_read"] == 3'500'000);
      CHECK(json["peak_anonymous_bytes"] < 48 << 20);
      if (layout != "text") CHECK(digest(store) == expected);
      expected = digest(store);
      fs::remove_all(folder);
    }
    static_assert(sizeof(float) * 60'000 * 240 > 48 << 20);
    static_assert(sizeof(std::int64_t) * 2 * 3'500'000 > 48 << 20);
  }
}

}  // namespace unweave

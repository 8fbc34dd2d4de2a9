// tests/tools/commands/import_types_test.cpp - `import --type`, and folders of several kinds of
// nodes: each way to give them makes the store that joint arrays make, or is one error.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/typed_sample.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::npy;
using testing::Result;
using testing::run;
using testing::TempDir;
using testing::TypedSample;
using testing::write_file;
using Words = std::vector<std::string>;

nlohmann::json info_of(const fs::path& store) {
  return run({"info", store.string(), "--json"}).json();
}

std::string digest_of(const fs::path& store) {
  return info_of(store).at("digest");
}

void require_import(const fs::path& store, Words words) {
  words.insert(words.begin(), {"import", store.string(), "--json"});
  const Result result = run(words);
  CAPTURE(result.error);
  REQUIRE(result.code == 0);
}

std::string error_of(const fs::path& store, Words words) {
  words.insert(words.begin(), {"import", store.string()});
  const Result result = run(words);
  CHECK(result.code != 0);
  CHECK_FALSE(fs::exists(store));
  return result.error;
}

/// Files of the sample in a folder.
struct TypedFiles {
  explicit TypedFiles(const fs::path& folder) : dir(folder) {
    const TypedSample sample;
    put("affiliated.txt", testing::edge_lines(sample.affiliated, " "));
    put("writes.txt", testing::edge_lines(sample.writes, " "));
    put("cites.txt", testing::edge_lines(sample.cites, " "));
    put("papers.npy", npy("<f4", "(5, 2)", sample.papers));
    put("institutions.npy", npy("<f4", "(3, 1)", sample.institutions));
    put("labels.txt", testing::label_lines(sample.labels));
    put("train.txt", "2\n0\n4\n");
    put("valid.txt", "1\n");
    put("test.txt", "3\n");
    // These have the same over all nodes: papers, authors from 5 on, institutions from 9 on.
    put("all-affiliated.txt", testing::edge_lines(sample.affiliated, " ", 5, 9));
    put("all-writes.txt", testing::edge_lines(sample.writes, " ", 5, 0));
    put("all.npy", npy("<f4", "(12, 3)", sample.joint_features()));
    put("all-labels.txt", testing::label_lines(sample.labels) + "-1\n-1\n-1\n-1\n-1\n-1\n-1\n");
  }
  void put(const std::string& name, const std::string& bytes) const { write_file(dir / name, bytes); }
  [[nodiscard]] std::string at(const std::string& name) const { return (dir / name).string(); }
  [[nodiscard]] std::string splits() const {
    return "train=" + at("train.txt") + ",valid=" + at("valid.txt") + ",test=" + at("test.txt");
  }

  /// Each type by its own files.
  [[nodiscard]] Words typed() const {
    return {"--type",        "paper=5",
            "--type",        "author=4",
            "--type",        "institution=3",
            "--relation",    "affiliated_with=" + at("affiliated.txt"),
            "--ends",        "affiliated_with=author,institution",
            "--relation",    "writes=" + at("writes.txt"),
            "--ends",        "writes=author,paper",
            "--relation",    "cites=" + at("cites.txt"),
            "--ends",        "cites=paper,paper",
            "--features-of", "institution=" + at("institutions.npy"),
            "--features-of", "paper=" + at("papers.npy"),
            "--labels-of",   "paper",
            "--labels",      at("labels.txt"),
            "--split",       splits()};
  }
  /// Nothing of types but the files over all nodes.
  [[nodiscard]] Words joint() const {
    return {"--nodes",    "12",
            "--relation", "affiliated_with=" + at("all-affiliated.txt"),
            "--relation", "writes=" + at("all-writes.txt"),
            "--relation", "cites=" + at("cites.txt"),
            "--features", at("all.npy"),
            "--labels",   at("all-labels.txt"),
            "--split",    splits()};
  }

  fs::path dir;
};

/// The words with one value changed.
Words with(Words words, const std::string& from, const std::string& to) {
  for (std::string& word : words)
    if (word == from) word = to;
  return words;
}

TEST_SUITE("tools/commands/import") {
  TEST_CASE("types: files that count within a type, and both layouts of OGB, make the store of joint arrays") {
    const TempDir dir;
    const TypedFiles files(dir.path());
    require_import(dir / "joint", files.joint());
    const std::string expected = digest_of(dir / "joint");
    CHECK(info_of(dir / "joint").at("types").is_null());

    require_import(dir / "typed", files.typed());
    CHECK(digest_of(dir / "typed") == expected);
    const nlohmann::json info = info_of(dir / "typed");
    CHECK(info.at("types") == nlohmann::json::parse(R"([{"name":"paper","first":0,"nodes":5},
      {"name":"author","first":5,"nodes":4},{"name":"institution","first":9,"nodes":3}])"));
    CHECK(info.at("nodes") == 12);
    CHECK(info.at("labelled") == 5);
    CHECK(run({"info", (dir / "typed").string()}).out.find("paper 0..4, author 5..8, institution 9..11") !=
          std::string::npos);

    testing::write_typed_text(dir / "mag", TypedSample());
    require_import(dir / "text", {"--ogb", (dir / "mag").string()});
    CHECK(digest_of(dir / "text") == expected);
    CHECK(info_of(dir / "text").at("relations") == nlohmann::json{"affiliated_with", "writes", "cites"});

    testing::write_typed_arrays(dir / "lsc", TypedSample());
    require_import(dir / "arrays", {"--ogb", (dir / "lsc").string(), "--type", "author=4", "--split", files.splits()});
    CHECK(digest_of(dir / "arrays") == expected);
    CHECK(info_of(dir / "arrays").at("types").size() == 3);
  }

  TEST_CASE("types: sets of relations of a folder, an order, and what an export writes") {
    const TempDir dir;
    const TypedFiles files(dir.path());
    Words joint = files.joint();
    joint.insert(joint.end(), {"--subset", "writes,cites", "--order", "degree"});
    require_import(dir / "joint", joint);
    testing::write_typed_text(dir / "mag", TypedSample());
    require_import(dir / "text", {"--ogb", (dir / "mag").string(), "--subset", "writes,cites", "--order", "degree"});
    CHECK(digest_of(dir / "text") == digest_of(dir / "joint"));

    const Result exported = run({"export", (dir / "text").string(), "--all", (dir / "files").string()});
    REQUIRE(exported.code == 0);
    const std::string& command = exported.out;
    for (const char* part : {"--type 'paper=5'", "--type 'author=4'", "--type 'institution=3'"})
      CHECK(command.find(part) != std::string::npos);
    CHECK(command.find("--nodes") == std::string::npos);
  }

  TEST_CASE("types: dense and sparse matrices of types stand side by side") {
    const TempDir dir;
    const TypedFiles files(dir.path());
    testing::write_zip(dir / "sparse.npz",
                       {{"attr_data.npy", npy<float>("<f4", "(2,)", {0.5F, 1.0F})},
                        {"attr_indices.npy", npy<std::int32_t>("<i4", "(2,)", {0, 1})},
                        {"attr_indptr.npy", npy<std::int32_t>("<i4", "(4,)", {0, 1, 1, 2})},
                        {"attr_shape.npy", npy<std::int64_t>("<i8", "(2,)", {3, 2})}},
                       false);
    std::vector<float> all;
    const TypedSample sample;
    for (std::size_t row = 0; row < 5; ++row)
      all.insert(all.end(), {sample.papers[2 * row], sample.papers[2 * row + 1], 0.0F, 0.0F});
    all.insert(all.end(), 16, 0.0F);
    all.insert(all.end(), {0.0F, 0.0F, 0.5F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 1.0F});
    files.put("all.npy", npy("<f4", "(12, 4)", all));
    require_import(dir / "joint", files.joint());
    require_import(dir / "typed", with(files.typed(), "institution=" + files.at("institutions.npy"),
                                       "institution=" + files.at("sparse.npz")));
    CHECK(digest_of(dir / "typed") == digest_of(dir / "joint"));
  }

  TEST_CASE("types: edges that are read by ids of the store are told, since that may be a slip") {
    const TempDir dir;
    const TypedFiles files(dir.path());
    const auto notes_of = [&](const std::string& store, const Words& words) {
      Words all{"import", (dir / store).string(), "--type", "paper=5", "--type", "author=4"};
      all.insert(all.end(), words.begin(), words.end());
      const Result result = run(all);
      CHECK(result.code == 0);
      return result.error;
    };
    const Words cites{"--relation", "cites=" + files.at("cites.txt")};
    CHECK(notes_of("a", cites).find("relation cites: ids in these edges are those of the store, 0 to 8; --ends") !=
          std::string::npos);
    CHECK(notes_of("b", {"--edges", files.at("cites.txt")}).find("--edges: ids in these edges") != std::string::npos);
    Words with_ends = cites;
    with_ends.insert(with_ends.end(), {"--ends", "cites=paper,paper"});
    CHECK(notes_of("c", with_ends).empty());
  }

  TEST_CASE("types: what cannot be meant is one error, and nothing is left behind") {
    const TempDir dir;
    const TypedFiles files(dir.path());
    const fs::path store = dir / "s";
    const auto refuses = [&](const Words& words, const Words& parts) {
      const std::string error = error_of(store, words);
      for (const std::string& part : parts) {
        CAPTURE(error);
        CAPTURE(part);
        CHECK(error.find(part) != std::string::npos);
      }
    };
    const auto plus = [](Words words, const Words& more) {
      words.insert(words.end(), more.begin(), more.end());
      return words;
    };
    files.put("far.txt", "0 0\n4 1\n");
    refuses(with(files.typed(), "writes=" + files.at("writes.txt"), "writes=" + files.at("far.txt")),
            {"far.txt", "edge 4 1", "its first node", "author", "--ends"});
    refuses(with(files.typed(), "paper=5", "paper=6"), {"papers.npy", "5 nodes", "6"});
    refuses(with(files.typed(), files.at("labels.txt"), files.at("all-labels.txt")), {"all-labels.txt", "12", "paper"});
    refuses(with(files.typed(), "writes=author,paper", "writes=author,papers"), {"--ends", "papers"});
    refuses(with(files.typed(), "writes=author,paper", "write=author,paper"), {"--ends", "write"});
    refuses(with(files.typed(), "writes=author,paper", "writes=author"), {"--ends", "RELATION=TYPE,TYPE"});
    refuses(with(files.typed(), "author=4", "author=x"), {"--type", "author=x"});
    refuses(with(files.typed(), "author=4", "author=0"), {"--type", "author", "one at least"});
    refuses(with(files.typed(), "author=4", "paper=4"), {"--type", "two types"});
    refuses(plus(files.typed(), {"--nodes", "13"}), {"--nodes", "12"});
    refuses(plus(files.typed(), {"--ids", files.at("train.txt")}), {"--ids", "--type"});
    refuses(plus(files.typed(), {"--features", files.at("all.npy")}), {"--features-of", "--features"});
    refuses(plus(files.typed(), {"--subset", "cites"}), {"--subset cites", "two relations or more", "writes"});
    const Words two_types{"--type", "paper=5", "--type", "author=4", "--relation", "writes=" + files.at("writes.txt")};
    refuses(plus(two_types, {"--features", files.at("papers.npy")}),
            {"papers.npy", "--type, all types together, says 9"});
    refuses({"--nodes", "3", "--labels-of", "paper"}, {"--labels-of", "--type"});
    refuses({"--type", "paper=3", "--ends", "a=paper,paper"}, {"--ends", "--relation"});
  }

  TEST_CASE("types: parts of a folder that are missing, or that cannot be read, are named") {
    const TempDir dir;
    const fs::path store = dir / "s", text = dir / "mag", arrays = dir / "lsc";
    testing::write_typed_text(text, TypedSample());
    testing::write_typed_arrays(arrays, TypedSample());
    const auto refuses = [&](const fs::path& folder, const Words& more, const Words& parts) {
      Words words{"--ogb", folder.string()};
      words.insert(words.end(), more.begin(), more.end());
      const std::string error = error_of(store, words);
      CAPTURE(error);
      for (const std::string& part : parts) CHECK_MESSAGE(error.find(part) != std::string::npos, part);
    };
    refuses(text, {"--type", "author=4"}, {"--type author=4", "num-node-dict.csv.gz"});
    refuses(text, {"--split", "train=x"}, {"--ogb and --split"});
    refuses(arrays, {}, {"author", "--type author=N", "meta.pt"});
    refuses(arrays, {"--type", "author=4", "--type", "editor=2"}, {"editor"});
    refuses(arrays, {"--type", "author=4", "--type", "paper=6"}, {"paper=6", "5 rows"});
    const fs::path edges = text / "raw" / "relations" / "paper___cites___paper";
    write_file(edges / "num-edge-list.csv.gz", testing::gzipped("4\n"));
    refuses(text, {}, {"edge.csv.gz", "3 edges", "says 4"});
    fs::remove(edges / "edge.csv.gz");
    refuses(text, {}, {"paper___cites___paper", "this file is missing"});
    write_file(text / "raw" / "triplet-type-list.csv.gz", testing::gzipped("author,writes,book\n"));
    refuses(text, {}, {"'book'", "none of the types"});
    write_file(text / "raw" / "num-node-dict.csv.gz", testing::gzipped("author,paper\n4\n"));
    refuses(text, {}, {"num-node-dict.csv.gz", "counts"});
  }

  TEST_CASE("types: without PyTorch's splits a folder is imported, and a line of Python writes them") {
    const TempDir dir;
    testing::write_typed_arrays(dir / "lsc", TypedSample());
    const Result result = run({"import", (dir / "s").string(), "--ogb", (dir / "lsc").string(), "--type", "author=4"});
    CHECK(result.code == 0);
    CHECK(result.error.find("split_dict.pt") != std::string::npos);
    CHECK(result.error.find("torch.load") != std::string::npos);
    CHECK(info_of(dir / "s").at("train") == 0);
  }

  TEST_CASE("types: new nodes are of the last type, as in an import of so many") {
    const TempDir dir;
    const TypedFiles files(dir.path());
    TypedSample sample;
    sample.institutions.resize(5);
    files.put("five.npy", npy("<f4", "(5, 1)", sample.institutions));
    const Words five = with(with(files.typed(), "institution=3", "institution=5"),
                            "institution=" + files.at("institutions.npy"), "institution=" + files.at("five.npy"));
    require_import(dir / "s", files.typed());
    require_import(dir / "fresh", five);
    CHECK(run({"purge", (dir / "s").string(), "--nodes", "14"}).code == 0);
    testing::check_same_store(dir / "s", dir / "fresh");
    CHECK(info_of(dir / "s").at("types")[2] == nlohmann::json::parse(R"({"name":"institution","first":9,"nodes":5})"));
    CHECK(run({"verify", (dir / "s").string()}).code == 0);

    const auto of_one_kind = [&](const char* authors) {
      return Words{"--type",        "paper=5",
                   "--type",        authors,
                   "--edges",       files.at("cites.txt"),
                   "--features-of", "paper=" + files.at("papers.npy")};
    };
    require_import(dir / "t", of_one_kind("author=4"));
    require_import(dir / "more", of_one_kind("author=70000"));
    CHECK(run({"grow", (dir / "t").string(), "--nodes", "70005"}).code == 0);
    testing::check_same_store(dir / "t", dir / "more");
  }
}

}  // namespace
}  // namespace unweave

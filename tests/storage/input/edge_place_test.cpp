// tests/storage/input/edge_place_test.cpp - a reader that goes on at a place gives what one that began at the beginning
// gives.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "storage/input/edge_reader.h"
#include "storage/input/feature_reader.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::TempDir;

struct TakenEdges {
  std::vector<Edge> edges;
  std::vector<std::uint32_t> weights;
  std::uint64_t ignored = 0;
};

/// Reads `some` edges, goes on in another reader, and reads the rest there.
TakenEdges read_in_two(const InputFile& file, const EdgeOptions& options, std::size_t some) {
  TakenEdges taken;
  EdgePlace place;
  const auto read = [&](EdgeReader& reader, std::size_t most) {
    while (taken.edges.size() < most) {
      std::vector<Edge> edges(std::min<std::size_t>(most - taken.edges.size(), 50));
      std::vector<std::uint32_t> weights(options.max_weight > 1 ? edges.size() : 0);
      const std::size_t count = reader.read(edges, weights);
      if (count == 0) break;
      taken.edges.insert(taken.edges.end(), edges.begin(), edges.begin() + static_cast<std::ptrdiff_t>(count));
      if (!weights.empty())
        taken.weights.insert(taken.weights.end(), weights.begin(),
                             weights.begin() + static_cast<std::ptrdiff_t>(count));
    }
    taken.ignored = reader.left_out().ignored;
    place = reader.place();
  };
  read(*open_edges(file, options), some);
  CHECK(place.edges == taken.edges.size());
  const auto second = open_edges(file, options);
  second->go_on(place);
  CHECK(second->place().edges == place.edges);
  read(*second, 100'000);
  CHECK(place.edges == taken.edges.size());
  return taken;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("every format goes on at any place") {
    const TempDir dir;
    std::vector<Edge> edges;
    for (NodeId i = 0; i < 700; ++i) edges.push_back({i * 7 % 500, i * 11 % 501});
    const std::string count = std::to_string(edges.size());
    std::string text = "\xef\xbb\xbfsource,target\r\n", weighted, mtx, metis, remarks;
    std::vector<std::int64_t> pairs, rows, columns;
    std::vector<float> weights;
    std::vector<std::vector<NodeId>> lists(501);
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const auto [u, v] = edges[i];
      if (i % 100 == 17) text += "# a comment\n\n";
      text += std::to_string(u) + "," + std::to_string(v) + (i % 3 == 0 ? "\r\n" : "\n");
      weighted += std::to_string(u) + " " + std::to_string(v) + " " + std::to_string(1 + i % 5) + "\n";
      mtx += std::to_string(u + 1) + " " + std::to_string(v + 1) + " " + std::to_string(1 + i % 5) + "\n";
      pairs.insert(pairs.end(), {u, v});
      rows.push_back(u);
      columns.push_back(v);
      weights.push_back(static_cast<float>(1 + i % 5));
      if (u != v) {
        lists[u].push_back(v);
        lists[v].push_back(u);
      }
    }
    rows.insert(rows.end(), columns.begin(), columns.end());
    std::size_t ends = 0;
    for (const auto& list : lists) {
      for (const NodeId node : list) metis += std::to_string(node + 1) + " ";
      metis += "\n";
      ends += list.size();
    }
    metis = "501 " + std::to_string(ends / 2) + "\n" + metis;
    const auto file = [&](const char* name, const std::string& bytes) {
      return InputFile{testing::write_file(dir / name, bytes), {}, {}, [](const std::string&) {}};
    };
    const std::string list = "(" + count + ",)";
    const InputFile weights_file = file("weights.npy", testing::npy("<f4", list, weights));
    EdgeOptions plain, with_weights, without_weights, beside;
    with_weights.max_weight = 5;
    without_weights.ignore_weights = true;
    beside.max_weight = 5;
    beside.weights = weights_file;
    const std::string market =
        "%%MatrixMarket matrix coordinate integer general\n% more\n501 501 " + count + "\n" + mtx;
    const std::vector<std::int64_t> ids(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(edges.size()));
    testing::write_zip(dir / "coo.npz",
                       {{"row.npy", testing::npy("<i8", list, ids)},
                        {"col.npy", testing::npy("<i8", list, columns)},
                        {"data.npy", testing::npy("<f4", list, weights)},
                        {"format.npy", testing::npy<char>("|S3", "()", {'c', 'o', 'o'})},
                        {"shape.npy", testing::npy<std::int64_t>("<i8", "(2,)", {501, 501})}},
                       true);
    const std::vector<std::pair<InputFile, EdgeOptions>> cases{
        {file("e.csv", text), plain},
        {file("e.csv.gz", testing::gzipped(text)), plain},
        {file("e.csv.zst", testing::zstded(text)), plain},
        {file("w.txt", weighted), with_weights},
        {file("w2.txt", weighted), without_weights},
        {file("m.mtx", market), with_weights},
        {file("m2.mtx", market), without_weights},
        {file("g.metis", metis), plain},
        {file("pairs.npy", testing::npy("<i8", "(" + count + ", 2)", pairs)), plain},
        {file("pairs2.npy", testing::npy("<i8", "(" + count + ", 2)", pairs)), beside},
        {file("rows.npy", testing::npy("<i8", "(2, " + count + ")", rows)), beside},
        {file("rows.npy.gz", testing::gzipped(testing::npy("<i8", "(2, " + count + ")", rows))), plain},
        {{dir / "coo.npz", {}}, with_weights},
        {{dir / "coo.npz", {}}, without_weights},
    };
    for (const auto& one : cases) {
      const InputFile& input = one.first;
      const EdgeOptions& options = one.second;
      CAPTURE(input.path);
      const TakenEdges whole = read_in_two(input, options, 0);
      if (input.path.extension() != ".metis") CHECK(whole.edges == edges);
      for (const std::size_t some : {1U, 49U, 64U, 65U, 300U, 699U, 700U}) {
        CAPTURE(some);
        const TakenEdges taken = read_in_two(input, options, some);
        CHECK(taken.edges == whole.edges);
        CHECK(taken.weights == whole.weights);
        CHECK(taken.ignored == whole.ignored);
      }
    }
  }

  TEST_CASE("a text that goes on is still found to be METIS, and an error still names its line") {
    const TempDir dir;
    // A ring: every node has two neighbours, and every line two numbers.
    std::string ring = "200 200\n";
    for (int i = 0; i < 200; ++i)
      ring += std::to_string((i + 199) % 200 + 1) + " " + std::to_string((i + 1) % 200 + 1) + "\n";
    const InputFile metis{testing::write_file(dir / "ring", ring), {}};
    CHECK_THROWS_AS(read_in_two(metis, {}, 150), InputError);
    std::string text;
    for (int i = 0; i < 300; ++i) text += "1 " + std::to_string(i % 40 + 7) + "\n";
    const InputFile bad{testing::write_file(dir / "bad", text + "1 x\n"), {}};
    testing::check_message(testing::message_of<InputError>([&] { read_in_two(bad, {}, 200); }), {"bad", "line 301"});
  }

  TEST_CASE("edges between names go on at any piece") {
    const TempDir dir;
    std::string text = "source target\n";
    for (int i = 0; i < 300'000; ++i) text += std::to_string(i % 977) + " " + std::to_string(i % 991) + "\n";
    const InputFile input{testing::write_file(dir / "e.txt", text), {}, {}, [](const std::string&) {}};
    const FindNodes find = [](std::span<const std::string_view> names, NodeId* nodes) {
      for (std::size_t i = 0; i < names.size(); ++i)
        nodes[i] = names[i][0] < 'a' ? static_cast<NodeId>(std::stoul(std::string(names[i]))) : kNoNode;
    };
    const auto read = [&](int pieces) {
      std::vector<Edge> edges;
      EdgePlace place;
      for (const bool rest : {false, true}) {
        NamedEdges reader(ByteSource(input), find, "names", 0, WeightRule(false, 1));
        if (rest) reader.go_on(place);
        NamedEdgeChunk chunk;
        for (int i = 0; (rest || i < pieces) && reader.next(chunk); ++i) {
          reader.resolve(chunk);
          edges.insert(edges.end(), chunk.edges.begin(), chunk.edges.end());
        }
        place = reader.place();
      }
      return edges;
    };
    const std::vector<Edge> whole = read(0);
    CHECK(whole.size() == 300'000);
    for (const int pieces : {1, 2, 3}) CHECK(read(pieces) == whole);
  }

  TEST_CASE("features leave out any number of rows") {
    const TempDir dir;
    constexpr std::size_t kRows = 90, kColumns = 4;
    std::vector<double> dense(kRows * kColumns);
    std::string text;
    std::vector<std::int64_t> indptr{0}, indices;
    std::vector<double> stored;
    for (std::size_t i = 0; i < dense.size(); ++i) {
      dense[i] = i % 3 == 0 ? static_cast<double>(i) : 0;
      text += std::to_string(dense[i]) + (i % kColumns == kColumns - 1 ? "\n" : " ");
      if (dense[i] != 0) {
        indices.push_back(static_cast<std::int64_t>(i % kColumns));
        stored.push_back(dense[i]);
      }
      if (i % kColumns == kColumns - 1) indptr.push_back(static_cast<std::int64_t>(stored.size()));
    }
    const auto file = [&](const char* name, const std::string& bytes) {
      return InputFile{testing::write_file(dir / name, bytes), {}};
    };
    const std::string entries = "(" + std::to_string(stored.size()) + ",)";
    const CsrFiles csr{file("p.npy", testing::npy("<i8", "(" + std::to_string(kRows + 1) + ",)", indptr)),
                       file("i.npy", testing::npy("<i8", entries, indices)),
                       file("v.npy", testing::npy("<f8", entries, stored))};
    const InputFile array = file("x.npy", testing::npy("<f8", "(90, 4)", dense));
    const InputFile lines = file("x.txt", text);
    const std::vector<std::function<std::unique_ptr<FeatureReader>()>> opens{
        [&] { return open_features(array); }, [&] { return open_features(lines, kRows); },
        [&] { return open_csr_features(csr, kColumns); }};
    for (std::size_t which = 0; which < opens.size(); ++which) {
      CAPTURE(which);
      for (const std::size_t skipped : {0U, 1U, 17U, 89U, 90U}) {
        CAPTURE(skipped);
        const auto reader = opens[which]();
        reader->skip(skipped);
        std::size_t row = skipped;
        for (FeatureBatch batch; reader->next(batch, 10);) {
          CHECK(batch.first_row == row);
          std::vector<double> values(batch.rows * kColumns);
          if (batch.sparse) {
            for (std::size_t r = 0; r < batch.rows; ++r)
              for (std::uint64_t i = batch.indptr[r]; i < batch.indptr[r + 1]; ++i)
                values[r * kColumns + batch.indices[i]] = batch.values[i];
          } else {
            values = batch.values;
          }
          CHECK(std::equal(values.begin(), values.end(), dense.begin() + static_cast<std::ptrdiff_t>(row * kColumns)));
          row += batch.rows;
        }
        CHECK(row == kRows);
      }
    }
  }
}

}  // namespace unweave

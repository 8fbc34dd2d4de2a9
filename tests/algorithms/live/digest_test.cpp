// tests/algorithms/live/digest_test.cpp - equal contents give equal digests whatever way led to
// them; others do not.
#include "algorithms/live/digest.h"

#include <doctest/doctest.h>
#include <sodium.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "engine/resources/parallel.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::ample_budget;
using testing::random_store;
using testing::TempDir;
using testing::tiny_spec;
using testing::TinyStore;

std::string digest_of(const std::filesystem::path& path) {
  return digest_text(content_digest(StoreReader(path, ample_budget())));
}

std::string digest_of(const TinyStore& contents) {
  const TempDir folder;
  testing::write_store(folder / "s", contents);
  return digest_of(folder / "s");
}

std::string digest_of(const TinyStore& contents, const PropagationSpec& spec) {
  const TempDir folder;
  testing::write_store(folder / "s", contents);
  testing::propagate_store(folder / "s", spec);
  return digest_of(folder / "s");
}

void stream(const std::filesystem::path& path, const std::vector<Request>& requests, std::size_t batch, double r_max,
            bool checkpoint) {
  StoreWriter store(path, ample_budget());
  for (std::size_t first = 0; first < requests.size(); first += batch) {
    const std::span<const Request> some(&requests[first], std::min(batch, requests.size() - first));
    store.apply(some, store.resolve(some), {r_max, ThresholdScale::absolute});
  }
  if (checkpoint) store.checkpoint();
}

/// A store, requests, and the store that remains after them.
struct Removal {
  TinyStore before, after;
  std::vector<Request> requests;
};

Removal some_removals() {
  Removal removal;
  removal.after = random_store(300, 900, 5, 7);
  auto& edges = removal.after.edges;
  for (Edge& edge : edges)
    if (edge.u > edge.v) std::swap(edge.u, edge.v);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  removal.before = removal.after;

  std::set<Edge> there(edges.begin(), edges.end());
  for (NodeId u = 10; u < 40; ++u) {
    const Edge edge{u, u + 150};
    if (!there.insert(edge).second) continue;
    removal.before.edges.push_back(edge);
    removal.requests.push_back({RequestKind::remove_edge, edge.v, edge.u});
  }
  // Node 299 goes with everything it has; node 298 loses features, label and split, but no edge.
  std::erase_if(edges, [](const Edge& edge) { return edge.v == 299; });
  removal.requests.push_back({RequestKind::remove_node, 299, 0});
  removal.requests.push_back({RequestKind::remove_feature, 298, 0});
  for (const NodeId node : {298U, 299U}) {
    std::fill_n(removal.after.features.begin() + node * 5, 5, 0.0F);
    removal.before.features[node * 5] = 0.5F;
    removal.before.labels[node] = 1;
    removal.after.labels[node] = -1;
    for (auto* split : {&removal.before.train, &removal.before.valid, &removal.before.test}) std::erase(*split, node);
    removal.before.train.push_back(node);
    for (auto* split : {&removal.after.train, &removal.after.valid, &removal.after.test}) std::erase(*split, node);
  }
  return removal;
}

/// Words as FORMAT.md lists them, with the slow ways of one who has read that page alone.
class SlowDigest {
 public:
  static std::string of(const TinyStore& store) {
    std::string root, leaf, hashes;
    for (NodeId node = 0; node < store.nodes; ++node) {
      hashes += hash(node_words(store, node));
      if (node % 64 != 63 && node + 1 < store.nodes) continue;
      const NodeId first = node / 64 * 64;
      leaf = "LEAF" + word(first) + word(node + 1 - first) + hashes;
      root += hash(leaf);
      hashes.clear();
    }
    const std::string all =
        hash("ROOT" + word(4) + word(store.nodes) + word(store.columns) + word(store.classes) + word(0) + root);
    std::string text;
    for (const char byte : all) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      text += kDigits[static_cast<unsigned char>(byte) / 16];
      text += kDigits[static_cast<unsigned char>(byte) % 16];
    }
    return text;
  }

 private:
  static std::string hash(const std::string& bytes) {
    std::string digest(32, 0);
    crypto_generichash(reinterpret_cast<unsigned char*>(digest.data()), digest.size(),
                       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
    return digest;
  }
  static std::string number(std::uint32_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 255U);
    return text;
  }
  static std::string word(std::uint32_t value) { return number(value, 4); }

  static std::string node_words(const TinyStore& store, NodeId node) {
    std::set<NodeId> larger;
    for (const Edge& edge : store.edges)
      if (std::min(edge.u, edge.v) == node && edge.u != edge.v) larger.insert(std::max(edge.u, edge.v));
    std::string words = word(static_cast<std::uint32_t>(larger.size()));
    for (const NodeId one : larger) words += word(one);
    words += features({store.features.data() + std::size_t{node} * store.columns, store.columns});
    words += word(store.labels.empty() ? ~0U : static_cast<std::uint32_t>(store.labels[node]));
    std::uint32_t splits = 0;
    for (const NodeId one : store.train) splits |= one == node ? 1U : 0U;
    for (const NodeId one : store.valid) splits |= one == node ? 2U : 0U;
    for (const NodeId one : store.test) splits |= one == node ? 4U : 0U;
    return words + word(splits);
  }
  static std::string features(std::span<const float> row) {
    std::vector<std::pair<std::uint32_t, float>> listed;
    for (std::uint32_t c = 0; c < row.size(); ++c)
      if (row[c] != 0) listed.emplace_back(c, row[c]);
    const auto nonzeros = static_cast<std::uint32_t>(listed.size());
    const bool has_columns = 2 * nonzeros < row.size();
    if (!has_columns) {
      listed.clear();
      for (std::uint32_t c = 0; c < row.size(); ++c) listed.emplace_back(c, row[c]);
    }
    const bool has_halves =
        std::all_of(listed.begin(), listed.end(), [](const auto& one) { return is_half(one.second); });
    std::string words = word(nonzeros) + word(has_halves ? 16 : 32);
    if (has_columns)
      for (const auto& one : listed) words += word(one.first);
    for (const auto& one : listed)
      words += has_halves ? number(half(one.second), 2) : word(std::bit_cast<std::uint32_t>(one.second + 0.0F));
    words.resize((words.size() + 3) / 4 * 4);
    return words;
  }
  /// A multiple of the least half, with 11 bits at most.
  static bool is_half(float value) {
    if (value == 0) return true;
    int exponent = 0;
    const float fraction = std::frexp(value, &exponent);
    const float unit = std::ldexp(value, 24);
    return std::ldexp(fraction, 11) == std::floor(std::ldexp(fraction, 11)) && unit == std::floor(unit);
  }
  static std::uint32_t half(float value) {
    const std::uint32_t sign = value < 0 ? 0x8000U : 0U;
    const float unit = std::ldexp(std::abs(value), 24);
    if (unit < 1024) return sign + static_cast<std::uint32_t>(unit);
    int exponent = 0;
    const float fraction = std::frexp(std::abs(value), &exponent);
    return sign + (static_cast<std::uint32_t>(exponent + 14) << 10U) +
           (static_cast<std::uint32_t>(std::ldexp(fraction, 11)) & 1023U);
  }
};

TEST_SUITE("unit") {
  TEST_CASE("the digest is the one that the page of formats tells") {
    for (const std::uint32_t columns : {0U, 1U, 5U, 8U}) {
      CAPTURE(columns);
      TinyStore store = random_store(150, 400, columns, 11);
      CHECK(digest_of(store) == SlowDigest::of(store));
      for (std::size_t i = 0; i < store.features.size(); ++i) {
        float& value = store.features[i];
        if (i / std::max(1U, columns) % 3 != 0)
          value = std::ldexp(std::trunc(std::ldexp(value, 9)), i % 7 == 0 ? -24 : -9);
        if (i % 4 != 0 && i / std::max(1U, columns) % 2 == 0) value = 0;
      }
      CHECK(digest_of(store) == SlowDigest::of(store));
      store.sparse = columns > 0;
      CHECK(digest_of(store) == SlowDigest::of(store));
    }
  }

  TEST_CASE("features of 16 bits and the same features of 32 bits have one digest") {
    TinyStore store = random_store(100, 200, 6, 12);
    for (float& value : store.features) value = std::ldexp(std::trunc(std::ldexp(value, 10)), -10);
    const std::string digest = digest_of(store);
    store.type = FeatureType::f16;
    CHECK(digest_of(store) == digest);
    CHECK(SlowDigest::of(store) == digest);
    TinyStore without = store;  // the features of some nodes, with zeros that have signs
    for (const NodeId node : {3U, 4U, 64U}) {
      std::fill_n(&without.features[node * 6], 6, node == 4 ? -0.0F : 0.0F);
      without.labels[node] = -1;
      for (auto* split : {&without.train, &without.valid, &without.test}) std::erase(*split, node);
    }
    const std::string remaining = digest_of(without);
    for (const FeatureType type : {FeatureType::f16, FeatureType::f32}) {
      CAPTURE(static_cast<int>(type));
      store.type = type;
      const TempDir folder;
      testing::write_store(folder / "s", store);
      stream(folder / "s",
             {{RequestKind::remove_feature, 3, 0},
              {RequestKind::remove_feature, 4, 0},
              {RequestKind::remove_feature, 64, 0}},
             2, 0, type == FeatureType::f16);
      CHECK(digest_of(folder / "s") == remaining);
    }
  }

  TEST_CASE("every kind of content changes the digest") {
    const TinyStore base = random_store(130, 300, 3, 1);
    std::set<std::string> seen{digest_of(base)};
    const auto differs = [&](const char* what, const std::function<void(TinyStore&)>& change) {
      CAPTURE(what);
      TinyStore other = base;
      change(other);
      CHECK(seen.insert(digest_of(other)).second);
    };
    differs("an isolated node more", [](TinyStore& s) {
      ++s.nodes;
      s.features.resize(s.features.size() + 3);
      s.labels.push_back(-1);
    });
    differs("an edge more", [](TinyStore& s) { s.edges.push_back({128, 129}); });
    differs("an edge less", [](TinyStore& s) {
      std::erase_if(s.edges, [](const Edge& e) { return std::minmax(e.u, e.v) == std::minmax<NodeId>(0, 1); });
    });
    differs("a value", [](TinyStore& s) { s.features[0] = 0.125F; });
    differs("a column more", [](TinyStore& s) {
      s.columns = 4;
      std::vector<float> wider;
      for (NodeId node = 0; node < s.nodes; ++node) {
        wider.insert(wider.end(), &s.features[node * 3], &s.features[node * 3] + 3);
        wider.push_back(0);
      }
      s.features = wider;
    });
    differs("a class more", [](TinyStore& s) { ++s.classes; });
    differs("a label", [](TinyStore& s) { s.labels[5] = s.labels[5] == 0 ? 1 : 0; });
    differs("no split", [](TinyStore& s) { s.train.clear(); });
    differs("train and test exchanged", [](TinyStore& s) { std::swap(s.train, s.test); });
  }

  TEST_CASE("the way features are kept, the sign of zeros and the number of threads are not contents") {
    TinyStore dense = random_store(200, 500, 7, 2);
    const std::string digest = digest_of(dense);
    TinyStore sparse = dense;
    sparse.sparse = true;
    CHECK(digest_of(sparse) == digest);
    for (float& value : dense.features)
      if (value == 0.0F) value = -value;
    CHECK(digest_of(dense) == digest);
    const ThreadLimit one(1);
    CHECK(digest_of(sparse) == digest);
  }

  TEST_CASE("mostly zero rows and rows without zeros, on both sides of the change of form") {
    for (const std::uint32_t columns : {1U, 2U, 3U, 8U}) {
      CAPTURE(columns);
      std::set<std::string> seen;
      TinyStore store;
      store.nodes = 1;
      store.columns = columns;
      store.features.assign(columns, 0.0F);
      seen.insert(digest_of(store));
      for (std::uint32_t c = 0; c < columns; ++c) {
        store.features[c] = 0.25F;
        store.sparse = c % 2 == 0;
        CHECK(seen.insert(digest_of(store)).second);
      }
    }
  }

  TEST_CASE("the state is part of the digest, the weights are not") {
    const TinyStore contents = random_store(120, 250, 3, 3);
    PropagationSpec spec = tiny_spec(2);
    std::set<std::string> seen{digest_of(contents)};
    CHECK(seen.insert(digest_of(contents, spec)).second);
    spec.weights = {1, 2, 3};
    spec.scheme = "gpr";
    CHECK_FALSE(seen.insert(digest_of(contents, spec)).second);
    CHECK(seen.insert(digest_of(contents, tiny_spec(1))).second);
    CHECK(seen.insert(digest_of(contents, tiny_spec(0))).second);
    CHECK(seen.insert(digest_of(contents, tiny_spec(2, false))).second);
    CHECK(seen.insert(digest_of(contents, tiny_spec(2, true, 0.25))).second);
    spec.scale_bits = 20;
    CHECK(seen.insert(digest_of(contents, spec)).second);
  }

  TEST_CASE("removing what was there is never having had it") {
    const Removal removal = some_removals();
    const std::string plain = digest_of(removal.after);
    CHECK(digest_of(removal.before) != plain);
    for (const bool all_rows : {true, false}) {
      CAPTURE(all_rows);
      const PropagationSpec spec = tiny_spec(2, all_rows);
      const std::string wanted = digest_of(removal.after, spec);
      for (const std::size_t batch : {std::size_t{1}, std::size_t{7}, std::size_t{100}}) {
        for (const bool checkpoint : {false, true}) {
          CAPTURE(batch);
          CAPTURE(checkpoint);
          const TempDir folder;
          testing::write_store(folder / "s", removal.before);
          if (!all_rows && batch == 7) {  // a stream before the propagation
            stream(folder / "s", removal.requests, batch, 0, checkpoint);
            CHECK(digest_of(folder / "s") == plain);
            testing::propagate_store(folder / "s", spec);
          } else {
            testing::propagate_store(folder / "s", spec);
            stream(folder / "s", removal.requests, batch, 0, checkpoint);
          }
          CHECK(digest_of(folder / "s") == wanted);
        }
      }
    }
  }

  TEST_CASE("stale rows show in the digest until they are flushed") {
    const Removal removal = some_removals();
    const std::string wanted = digest_of(removal.after, tiny_spec(2));
    const TempDir folder;
    testing::write_store(folder / "s", removal.before);
    testing::propagate_store(folder / "s", tiny_spec(2));
    stream(folder / "s", removal.requests, 10, 0.5, true);
    const std::string stale = digest_of(folder / "s");
    CHECK(stale != wanted);
    StoreWriter store(folder / "s", ample_budget());
    CHECK(store.embedding().stale_rows() > 0);
    CHECK(digest_text(content_digest(store)) == stale);
    store.publish_stale();
    CHECK(digest_text(content_digest(store)) == wanted);
    store.checkpoint();
    CHECK(digest_of(folder / "s") == wanted);
  }
}

}  // namespace
}  // namespace unweave

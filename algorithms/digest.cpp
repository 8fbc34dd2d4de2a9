// algorithms/digest.cpp - one number for what a store holds: equal contents, equal digest, whatever way led to them.
//
// A leaf hashes one flat buffer of 32-bit little-endian words, in which every variable part follows its length:
//   "LEAF", first node, nodes
//   for each node      neighbours, their ids
//   for each node      non-zeros k; if 2 k < columns: k column ids, k values; else one value a column (-0 is 0)
//   for each node      label (-1: none); 1 if in train + 2 if in valid + 4 if in test
//   for each level 1..L, each node      0: no row; 1: sums of 32 bits; 2: sums of 64 bits, when one needs them
//   for each level 0..L-1, each node    0: not stale; 1: differences of current and published densities
// The root hashes "ROOT", a version, the constants and the leaves.
#include "algorithms/digest.h"

#include <sodium.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "engine/parallel.h"
#include "storage/checksum.h"
#include "storage/error.h"

namespace unweave {
namespace {

static_assert(std::endian::native == std::endian::little, "words are hashed as they lie in memory");
static_assert(kLeafNodes % kBlockNodes == 0);

constexpr std::uint32_t kLeafTag = 0x4641454C;  // "LEAF"
constexpr std::uint32_t kRootTag = 0x544F4F52;  // "ROOT"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kLeavesATask = 16;

/// BLAKE2b-256 of `first`, then `second`.
Digest hash(std::span<const std::byte> first, std::span<const std::byte> second = {}) {
  Digest digest{};
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, digest.size());
  for (const auto bytes : {first, second})
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(digest.data()), digest.size());
  return digest;
}

/// A growing array of words that keeps its memory from leaf to leaf.
class Words {
 public:
  void clear() { words_.clear(); }
  void add(std::uint32_t word) { words_.push_back(word); }
  template <class T>
  void add_all(std::span<const T> values) {
    static_assert(sizeof(T) % sizeof(std::uint32_t) == 0);
    std::memcpy(extend(values.size_bytes() / sizeof(std::uint32_t)), values.data(), values.size_bytes());
  }
  /// Space for `count` words, to be filled by the caller.
  std::uint32_t* extend(std::size_t count) {
    words_.resize(words_.size() + count);
    return words_.data() + words_.size() - count;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_)); }

 private:
  std::vector<std::uint32_t> words_;
};

/// Hashes leaves one after the other; one object a thread.
class LeafHasher {
 public:
  LeafHasher(const Contents& contents, const Embedding* embedding) : contents_(contents), embedding_(embedding) {}

  Digest leaf(NodeRange nodes) {
    words_.clear();
    words_.add(kLeafTag);
    words_.add(nodes.first);
    words_.add(nodes.size());
    add_adjacency(nodes);
    add_features(nodes);
    add_labels(nodes);
    if (embedding_ != nullptr) {
      for (std::uint32_t level = 1; level <= embedding_->levels(); ++level) add_sums(level, nodes);
      for (std::uint32_t level = 0; level < embedding_->levels(); ++level) add_stale(level, nodes);
    }
    return hash(words_.bytes());
  }

 private:
  void add_adjacency(NodeRange nodes) {
    DecodedBlock block;
    for (NodeId first = nodes.first; first < nodes.last; first += block.nodes) {
      contents_.graph().decode(first / kBlockNodes, buffer_, block);
      const NodeId* targets = block.targets;
      for (std::uint32_t i = 0; i < block.nodes; ++i) {
        words_.add(block.counts[i]);
        words_.add_all(std::span(targets, block.counts[i]));
        targets += block.counts[i];
      }
    }
  }

  void add_features(NodeRange nodes) {
    const std::uint32_t columns = contents_.features().columns();
    values_.resize(std::size_t{nodes.size()} * columns);
    contents_.features().read(nodes, 0, columns, values_.data());
    for (std::size_t row = 0; row < nodes.size(); ++row) {
      const std::span<const float> x(values_.data() + row * columns, columns);
      const auto nonzeros =
          static_cast<std::uint32_t>(x.size()) - static_cast<std::uint32_t>(std::count(x.begin(), x.end(), 0.0F));
      words_.add(nonzeros);
      if (2 * std::uint64_t{nonzeros} >= columns) {
        std::uint32_t* out = words_.extend(columns);
        for (const float value : x) *out++ = std::bit_cast<std::uint32_t>(value + 0.0F);
        continue;
      }
      std::uint32_t* out = words_.extend(2 * std::size_t{nonzeros});
      for (std::uint32_t c = 0; c < columns; ++c) {
        if (x[c] == 0.0F) continue;
        out[0] = c;
        out[nonzeros] = std::bit_cast<std::uint32_t>(x[c]);
        ++out;
      }
    }
  }

  void add_labels(NodeRange nodes) {
    std::array<std::uint32_t, kLeafNodes> splits{};
    std::uint32_t bit = 1;
    for (const auto* split : {&contents_.train(), &contents_.valid(), &contents_.test()}) {
      for (auto it = std::lower_bound(split->begin(), split->end(), nodes.first);
           it != split->end() && *it < nodes.last; ++it)
        splits[*it - nodes.first] += bit;
      bit *= 2;
    }
    for (NodeId node = nodes.first; node < nodes.last; ++node) {
      words_.add(static_cast<std::uint32_t>(contents_.label(node)));
      words_.add(splits[node - nodes.first]);
    }
  }

  void add_sums(std::uint32_t level, NodeRange nodes) {
    const StateLevel& sums = embedding_->level(level);
    const std::uint32_t columns = embedding_->columns();
    for (NodeId node = nodes.first; node < nodes.last; ++node) {
      const StateRow row = sums.row(node);
      if (!row.exists()) {
        words_.add(0);
      } else if (row.narrow != nullptr) {
        words_.add(1);
        words_.add_all(std::span(row.narrow, columns));
      } else {
        add_wide({row.wide, columns});
      }
    }
  }

  /// The width is a function of the values, also if a row should be kept wider than it needs.
  void add_wide(std::span<const std::int64_t> row) {
    const bool wide = std::any_of(row.begin(), row.end(), [](std::int64_t sum) {
      return sum != static_cast<std::int64_t>(static_cast<std::int32_t>(sum));
    });
    words_.add(wide ? 2 : 1);
    if (wide) {
      words_.add_all(row);
    } else {
      for (const std::int64_t sum : row) words_.add(static_cast<std::uint32_t>(sum));
    }
  }

  void add_stale(std::uint32_t level, NodeRange nodes) {
    const StaleRows& stale = embedding_->stale(level);
    for (NodeId node = nodes.first; node < nodes.last; ++node) {
      const bool is_stale = stale.contains(node);
      words_.add(is_stale ? 1 : 0);
      if (!is_stale) continue;
      delta_.assign(embedding_->columns(), 0);
      stale.add_to(node, 1, delta_.data());
      words_.add_all(std::span<const std::int32_t>(delta_));
    }
  }

  const Contents& contents_;
  const Embedding* embedding_;
  Graph::BlockBuffer buffer_;
  Words words_;
  std::vector<float> values_;
  std::vector<std::int32_t> delta_;
};

void add_constants(const Manifest& manifest, const Embedding* embedding, Words& words) {
  words.add(kRootTag);
  words.add(kVersion);
  words.add(manifest.nodes);
  words.add(manifest.features);
  words.add(manifest.classes);
  words.add(embedding != nullptr ? 1 : 0);
  if (embedding == nullptr) return;
  const PropagationSpec& spec = embedding->spec();
  words.add(spec.levels);
  words.add(spec.scale_bits);
  words.add(spec.all_rows ? 1 : 0);
  const double rho = spec.rho + 0.0;
  words.add_all(std::span(&rho, 1));
}

}  // namespace

std::string digest_text(const Digest& digest) {
  return to_hex(digest);
}

Digest content_digest(const Manifest& manifest, const Contents& contents, const Embedding* embedding) {
  if (sodium_init() < 0) throw ResourceError("libsodium does not start on this machine");
  const NodeId nodes = contents.num_nodes();
  std::vector<Digest> leaves((std::size_t{nodes} + kLeafNodes - 1) / kLeafNodes);
  parallel_ranges(0, leaves.size(), kLeavesATask, [&](std::size_t first, std::size_t last) {
    LeafHasher hasher(contents, embedding);
    for (std::size_t leaf = first; leaf < last; ++leaf) {
      const std::uint64_t node = std::uint64_t{leaf} * kLeafNodes;
      leaves[leaf] = hasher.leaf(
          {static_cast<NodeId>(node), static_cast<NodeId>(std::min<std::uint64_t>(nodes, node + kLeafNodes))});
    }
  });
  Words constants;
  add_constants(manifest, embedding, constants);
  return hash(constants.bytes(), std::as_bytes(std::span(leaves)));
}

Digest content_digest(const LiveStore& store) {
  return content_digest(store.manifest(), store.contents(), store.propagated() ? &store.embedding() : nullptr);
}

}  // namespace unweave

// algorithms/live/digest.cpp - one number for what a store holds: equal contents, equal digest,
// whatever way led to them.
//
// A node hashes one flat buffer of 32-bit little-endian words, in which every variable part follows
// its length:
//   neighbours with larger ids, increasing: every edge once; where a store has layers, copies are
//   nodes and numbers ids
//   where links are predicted: likewise those of edges that are held out of the graph
//   non-zeros k, bits of a value: 16 if all are binary16, else 32; if 2 k < columns: k column ids,
//   k values; else one value a column (-0 is 0)
//   label (-1: none); 1 if in train + 2 if in valid + 4 if in test
//   for each level 1..L      0: no row; 1: sums of 32 bits; 2: sums of 64 bits, when one needs them
//   for each level 0..L-1    0: not stale; 1: differences of present and published normalised sums
//   where rows are kept in place of sums, instead of these two: for each level that keeps some, 0:
//   no row; 1: bits of its values
//   of a store with whole graphs: the number of its own (-1: none)
//   of a store with names: bytes of the name (0: none), and these in words, the last one filled
//   with zeros
// Values of 16 bits stand two in a word, the last one perhaps beside zeros: half the bytes take
// half the time of BLAKE2b. A leaf hashes "LEAF", first node, nodes and their hashes. One of whole
// graphs hashes "GRPH", first graph, graphs, and of each its label and its split as above. The root
// hashes "ROOT", a version, the constants, the leaves of nodes and those of graphs.
#include "algorithms/live/digest.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/live/hash_messages.h"
#include "algorithms/live/live_store.h"
#include "engine/resources/look_ahead.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "storage/codec/half.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"

namespace unweave {
namespace {

static_assert(std::endian::native == std::endian::little, "words are hashed as they lie in memory");

constexpr std::uint32_t kLeafTag = 0x4641454C;  // "LEAF"
constexpr std::uint32_t kRootTag = 0x544F4F52;  // "ROOT"
constexpr std::uint32_t kVersion = 4;
constexpr std::uint32_t kDigestOfNames = 5;       // where nodes have names
constexpr std::uint32_t kDigestOfLayers = 16;     // is added where nodes are copies
constexpr std::uint32_t kDigestOfPairs = 32;      // is added where links are predicted
constexpr std::uint32_t kDigestOfGraphs = 64;     // is added where nodes belong to whole graphs
constexpr std::uint32_t kDigestOfUnits = 128;     // is added where weights are real
constexpr std::uint32_t kGraphsTag = 0x48505247;  // "GRPH"
constexpr std::uint32_t kLeafGraphs = 1024;
constexpr std::size_t kBlocksATask = 32;

/// What the edges of a list of a block weigh; nothing where no weights lie beside the ids.
std::span<const std::uint32_t> weights_beside(const DecodedBlock& block, std::span<const NodeId> list) {
  if (block.weights == nullptr) return {};
  return {block.weights + (list.data() - block.targets), list.size()};
}

/// Hashes nodes block by block; one object a thread.
class NodeHasher {
 public:
  /// `users`: nodes that there are, or will be, without their copies.
  NodeHasher(const Contents& contents, const Embedding* embedding, NodeId users)
      : contents_(contents), embedding_(embedding), users_(users) {}
  NodeHasher(const NodeHasher&) = delete;
  NodeHasher& operator=(const NodeHasher&) = delete;

  /// Puts the hash of each node of a block whose id lies in `users` at its place in `hashes`, which
  /// begins at the first of them, after flush() at the latest.
  void block(std::size_t index, NodeRange users, Digest* hashes) {
    const auto first = static_cast<NodeId>(index * kBlockNodes);
    const auto nodes = static_cast<std::uint32_t>(std::min<NodeId>(kBlockNodes, contents_.num_nodes() - first));
    std::array<NodeId, kBlockNodes> ids{};
    bool any = false;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      ids[i] = number(first + i);
      any |= users.contains(ids[i]);
    }
    if (!any) return;
    DecodedBlock block;
    contents_.graph().decode(index, buffer_, block);
    DecodedBlock held;
    if (contents_.held() != nullptr) contents_.held()->decode(index, held_buffer_, held);
    read_features({first, first + nodes});
    const std::array<std::uint32_t, kBlockNodes> splits = splits_of({first, first + nodes});
    const NodeId *targets = block.targets, *held_targets = held.targets;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      const std::span<const NodeId> list(targets, block.counts[i]);
      const std::span<const NodeId> held_list(held_targets, held.counts != nullptr ? held.counts[i] : 0);
      const std::span<const std::uint32_t> weights = weights_beside(block, list);
      const std::span<const std::uint32_t> held_weights = weights_beside(held, held_list);
      targets += list.size();
      held_targets += held_list.size();
      if (!users.contains(ids[i])) continue;
      add_neighbours(first + i, list);
      if (block.weights != nullptr) add_weights(first + i, list, weights);
      if (contents_.held() != nullptr) add_neighbours(first + i, held_list);
      if (held.weights != nullptr) add_weights(first + i, held_list, held_weights);
      add_features(i);
      words_.add(static_cast<std::uint32_t>(contents_.label(first + i)));
      words_.add(splits[i]);
      if (embedding_ != nullptr && !embedding_->has_sums()) {
        add_kept(first + i);
      } else if (embedding_ != nullptr) {
        for (std::uint32_t level = 1; level <= embedding_->levels(); ++level) add_sums(level, first + i);
        for (std::uint32_t level = 0; level < embedding_->levels(); ++level) add_stale(level, first + i);
      }
      if (contents_.graphs().any()) words_.add(static_cast<std::uint32_t>(contents_.graphs().of(first + i)));
      if (contents_.order().names().given()) words_.add_text(contents_.name(first + i));
      messages_.end(&hashes[ids[i] - users.first]);
    }
  }

  /// Likewise of a node that has nothing but a name, perhaps, as an exact propagation leaves it.
  void blank(std::string_view name, Digest* place) {
    words_.add(0);  // neighbours
    if (contents_.held() != nullptr) words_.add(0);
    words_.add(0);   // non-zero features
    words_.add(16);  // bits that a value would have
    words_.add(static_cast<std::uint32_t>(kNoLabel));
    words_.add(0);
    if (embedding_ != nullptr && !embedding_->has_sums()) {
      const bool has_rows = embedding_->spec().all_rows;
      const std::size_t width = embedding_->row_width(kept_weights());
      for (std::uint32_t level = embedding_->kept().first_level(); level <= embedding_->levels(); ++level) {
        words_.add(has_rows ? 1 : 0);
        if (has_rows) words_.add_zeros(kept_words(width));
      }
    } else if (embedding_ != nullptr) {
      const bool has_rows = embedding_->spec().all_rows;
      for (std::uint32_t level = 1; level <= embedding_->levels(); ++level) {
        words_.add(has_rows ? 1 : 0);
        if (has_rows) words_.add_zeros(embedding_->columns());
      }
      words_.add_zeros(embedding_->levels());  // nothing is stale
    }
    if (contents_.graphs().any()) words_.add(static_cast<std::uint32_t>(kNoGraph));
    if (contents_.order().names().given()) words_.add_text(name);
    messages_.end(place);
  }

  /// The hash of the leaf of these nodes.
  void leaf(NodeId first, std::span<const Digest> hashes, Digest* place) {
    for (const std::uint32_t word : {kLeafTag, first, static_cast<std::uint32_t>(hashes.size())}) words_.add(word);
    words_.add_all(hashes);
    messages_.end(place);
  }

  void flush() { messages_.flush(); }

 private:
  /// As NodeOrder has it, once there are `users_` nodes.
  [[nodiscard]] NodeId number(NodeId position) const {
    const NodeId one = contents_.order().number(position), present = contents_.order().users();
    return present == users_ ? one : one / present * users_ + one % present;
  }

  /// What the edges to those with larger ids weigh, in the order of these.
  void add_weights(NodeId node, std::span<const NodeId> positions, std::span<const std::uint32_t> weights) {
    std::vector<std::pair<NodeId, std::uint32_t>> arcs;
    const NodeId own = number(node);
    for (std::size_t i = 0; i < positions.size(); ++i)
      if (const NodeId id = number(positions[i]); id > own) arcs.emplace_back(id, weights[i]);
    std::sort(arcs.begin(), arcs.end());
    for (const auto& [number, weight] : arcs) words_.add(weight);
  }

  /// Those with larger ids: an edge belongs to its smaller end.
  void add_neighbours(NodeId node, std::span<const NodeId> positions) {
    if (contents_.order().is_identity()) {
      const auto larger = positions.subspan(
          static_cast<std::size_t>(std::upper_bound(positions.begin(), positions.end(), node) - positions.begin()));
      words_.add(static_cast<std::uint32_t>(larger.size()));
      words_.add_all(larger);
      return;
    }
    larger_.clear();
    const NodeId own = number(node);
    for (const NodeId position : positions)
      if (const NodeId id = number(position); id > own) larger_.push_back(id);
    std::sort(larger_.begin(), larger_.end());
    words_.add(static_cast<std::uint32_t>(larger_.size()));
    words_.add_all(std::span<const NodeId>(larger_));
  }

  /// The features of a block, and what binary16 makes of them.
  void read_features(NodeRange nodes) {
    const std::uint32_t columns = contents_.features().columns();
    halves_.resize(std::size_t{nodes.size()} * columns);
    if (contents_.features().read_halves(nodes, halves_.data())) {
      constexpr Half kMinusZero = 0x8000, kInfinity = 0x7C00;
      are_halves_ = true;
      for (Half& half : halves_) {
        are_halves_ = are_halves_ && (half & kInfinity) != kInfinity;
        half = half == kMinusZero ? Half{0} : half;
      }
      if (are_halves_) return;
    }
    are_halves_ = false;  // what is no number, in a damaged file, has 32 bits wherever it lies
    values_.resize(halves_.size());
    contents_.features().read(nodes, 0, columns, values_.data());
    for (float& value : values_) value += 0.0F;  // no zero has a sign
    widened_.resize(values_.size());
    truncate_to_halves(values_, halves_.data());
    widen_halves(halves_, widened_.data());
  }

  /// The features of a node of the block.
  void add_features(std::size_t node) {
    const std::size_t columns = contents_.features().columns(), at = node * columns;
    // The bits of numbers that are not zero, or of a zero without a sign, are equal where the
    // numbers are.
    if (are_halves_ || columns == 0 ||
        std::memcmp(values_.data() + at, widened_.data() + at, columns * sizeof(float)) == 0)
      add_values(std::span<const Half>(halves_).subspan(at, columns), nonzero_halves_);
    else
      add_values(std::span<const float>(values_).subspan(at, columns), nonzero_values_);
  }

  template <class T>
  void add_values(std::span<const T> values, std::vector<T>& nonzeros) {
    constexpr std::uint32_t kBits = 8 * sizeof(T);
    std::uint32_t count = 0;
    for (const T value : values) count += value != 0 ? 1U : 0U;
    words_.add(count);
    words_.add(kBits);
    if (2 * std::uint64_t{count} >= values.size()) return put_values(values);
    std::uint32_t* column = words_.extend(count);
    nonzeros.clear();
    for (std::uint32_t c = 0; c < values.size(); ++c) {
      if (values[c] == 0) continue;
      *column++ = c;
      nonzeros.push_back(values[c]);
    }
    put_values(std::span<const T>(nonzeros));
  }
  void put_values(std::span<const Half> halves) { words_.add_halves(halves); }
  void put_values(std::span<const float> values) { words_.add_all(values); }

  /// 1 for nodes of train, 2 of valid, 4 of test.
  [[nodiscard]] std::array<std::uint32_t, kBlockNodes> splits_of(NodeRange nodes) const {
    std::array<std::uint32_t, kBlockNodes> splits{};
    std::uint32_t bit = 1;
    for (const auto* split : {&contents_.train(), &contents_.valid(), &contents_.test()}) {
      for (auto it = std::lower_bound(split->begin(), split->end(), nodes.first);
           it != split->end() && *it < nodes.last; ++it)
        splits[*it - nodes.first] += bit;
      bit *= 2;
    }
    return splits;
  }

  /// The weights that give a row of a kept level its width.
  [[nodiscard]] std::vector<double> kept_weights() const {
    const PropagationSpec& spec = embedding_->spec();
    return spec.kept.keep == Keep::embedding ? spec.weights : std::vector<double>(spec.levels + std::size_t{1});
  }

  /// Words of so many values of a kept row.
  [[nodiscard]] std::size_t kept_words(std::size_t values) const {
    return embedding_->spec().kept.type == FeatureType::f16 ? (values + 1) / 2 : values;
  }

  /// The bits of kept rows.
  void add_kept(NodeId node) {
    const KeptRows& kept = embedding_->kept();
    for (std::uint32_t level = kept.first_level(); level <= embedding_->levels(); ++level) {
      const RowsLevel& rows = kept.level(level);
      const bool exists = rows.contains(node);
      words_.add(exists ? 1 : 0);
      if (!exists) continue;
      if (embedding_->spec().kept.type != FeatureType::f16) {
        rows.read_bits(node, words_.extend(rows.columns()));
        continue;
      }
      bits_.resize(rows.columns());
      rows.read_bits(node, bits_.data());
      kept_halves_.assign(bits_.begin(), bits_.end());
      words_.add_halves(kept_halves_);
    }
  }

  void add_sums(std::uint32_t level, NodeId node) {
    const std::uint32_t columns = embedding_->columns();
    const StateRow row = embedding_->level(level).row(node);
    if (!row.exists()) {
      words_.add(0);
    } else if (row.narrow != nullptr) {
      words_.add(1);
      words_.add_all(std::span(row.narrow, columns));
    } else {
      add_wide({row.wide, columns});
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

  void add_stale(std::uint32_t level, NodeId node) {
    const StaleRows& stale = embedding_->stale(level);
    const bool is_stale = stale.contains(node);
    words_.add(is_stale ? 1 : 0);
    if (!is_stale) return;
    delta_.assign(embedding_->columns(), 0);
    stale.add_to(node, 1, delta_.data());
    words_.add_all(std::span<const std::int32_t>(delta_));
  }

  const Contents& contents_;
  const Embedding* embedding_;
  NodeId users_;
  Graph::BlockBuffer buffer_, held_buffer_;
  HashMessages messages_;
  MessageWords& words_ = messages_.words();
  bool are_halves_ = false;              // all features of a block, which then lie in halves_ alone
  std::vector<float> values_, widened_;  // features of a block, as halves_
  std::vector<float> nonzero_values_;
  std::vector<Half> halves_, nonzero_halves_, kept_halves_;
  std::vector<std::uint32_t> bits_;
  std::vector<NodeId> larger_;
  std::vector<std::int32_t> delta_;
};

/// Asks the disk for what is hashed of a few MiB of nodes.
void ask_for(const Contents& contents, const Embedding* embedding, NodeRange nodes) {
  contents.read_ahead(nodes);
  for (std::uint32_t level = 1; embedding != nullptr && level <= embedding->levels(); ++level)
    embedding->read_ahead(level, nodes);
}

/// Asks for what a pass over all blocks reads, before its turn.
class BlocksAhead {
 public:
  BlocksAhead(const Contents& contents, const Embedding* embedding)
      : piece_blocks_(piece_blocks(contents, embedding)),
        ahead_((contents.graph().num_blocks() + piece_blocks_ - 1) / piece_blocks_, kPieceBytes,
               [this, &contents, embedding](std::size_t piece) {
                 const auto node_at = [&](std::size_t one) {
                   return static_cast<NodeId>(
                       std::min<std::size_t>(one * piece_blocks_ * kBlockNodes, contents.num_nodes()));
                 };
                 ask_for(contents, embedding, {node_at(piece), node_at(piece + 1)});
               }) {}

  /// The turn of a task that begins with this block begins.
  void at(std::size_t block) {
    if (block % piece_blocks_ == 0) ahead_.at(block / piece_blocks_);
  }

 private:
  static constexpr std::uint64_t kPieceBytes = std::uint64_t{8} << 20;

  static std::size_t piece_blocks(const Contents& contents, const Embedding* embedding) {
    constexpr std::uint64_t kMostTasks = 64;
    const std::uint64_t rows = 1 + (embedding != nullptr ? embedding->levels() : 0);
    std::uint64_t task_bytes = kBlocksATask * kBlockNodes * rows * (contents.features().columns() + 1) * sizeof(float);
    for (const Graph* graph : {&contents.graph(), contents.held()})
      if (graph != nullptr) task_bytes += graph->file_bytes() / graph->num_blocks() * kBlocksATask;
    return std::clamp<std::uint64_t>(kPieceBytes / task_bytes, 1, kMostTasks) * kBlocksATask;
  }

  std::size_t piece_blocks_;
  ScanAhead ahead_;
};

/// Makes the leaves of all nodes, some ids at a time.
class LeafMaker {
 public:
  /// There are to be `nodes`, copies of `users`. Users behind those of the contents have nothing
  /// but names of `added`, which may be null.
  LeafMaker(const Contents& contents, const Embedding* embedding, const NameList* added, NodeId nodes, NodeId users)
      : contents_(contents),
        embedding_(embedding),
        added_(added),
        users_(users),
        leaves_((std::size_t{nodes} + kLeafNodes - 1) / kLeafNodes) {
    for (std::size_t i = 0; i < std::max<std::size_t>(1, active_threads()); ++i)
      hashers_.emplace_back(contents, embedding, users);
    hashers_.front().blank({}, &blank_);
    hashers_.front().flush();
  }

  /// Where every id is its own position: a task reads the nodes of some leaves, and makes these.
  void in_place(NodeId nodes) {
    constexpr std::size_t kNodes = kBlocksATask * kBlockNodes;
    static_assert(kNodes % kLeafNodes == 0);
    BlocksAhead ahead(contents_, embedding_);
    run_items((nodes + kNodes - 1) / kNodes, hashers_.size(), [&](std::size_t item, std::size_t worker) {
      const NodeRange users{static_cast<NodeId>(item * kNodes),
                            static_cast<NodeId>(std::min<std::size_t>(nodes, (item + 1) * kNodes))};
      std::array<Digest, kNodes> hashes;
      hash_blocks(hashers_[worker], ahead, item * kBlocksATask, users, hashes.data());
      hash_blanks(hashers_[worker], users, hashes);
      add_leaves(hashers_[worker], users, hashes);
    });
  }

  /// Where nodes of a leaf may lie anywhere: all blocks are read for the nodes `users`, the first
  /// of which begins a leaf, and whose hashes have room in `hashes`.
  void from_anywhere(NodeRange users, std::span<Digest> hashes) {
    BlocksAhead ahead(contents_, embedding_);
    run_items((contents_.graph().num_blocks() + kBlocksATask - 1) / kBlocksATask, hashers_.size(),
              [&](std::size_t item, std::size_t worker) {
                hash_blocks(hashers_[worker], ahead, item * kBlocksATask, users, hashes.data());
              });
    hash_blanks(hashers_.front(), users, hashes);
    constexpr std::size_t kNodes = std::size_t{256} * kLeafNodes;
    run_items((users.size() + kNodes - 1) / kNodes, hashers_.size(), [&](std::size_t item, std::size_t worker) {
      const std::size_t first = item * kNodes, last = std::min<std::size_t>(users.size(), first + kNodes);
      add_leaves(hashers_[worker], {static_cast<NodeId>(users.first + first), static_cast<NodeId>(users.first + last)},
                 hashes.subspan(first));
    });
  }

  [[nodiscard]] std::vector<Digest> take() { return std::move(leaves_); }

 private:
  /// The blocks of one task.
  void hash_blocks(NodeHasher& hasher, BlocksAhead& ahead, std::size_t first, NodeRange users, Digest* hashes) const {
    const std::size_t blocks = contents_.graph().num_blocks();
    if (first >= blocks) return;
    ahead.at(first);
    for (std::size_t block = first; block < std::min(blocks, first + kBlocksATask); ++block)
      hasher.block(block, users, hashes);
    hasher.flush();
  }

  /// Those of `users` that the contents do not have.
  void hash_blanks(NodeHasher& hasher, NodeRange users, std::span<Digest> hashes) const {
    const NodeId present = contents_.order().users();
    if (present == users_) return;
    for (NodeId node = users.first; node < users.last; ++node) {
      const NodeId user = node % users_;
      if (user < present) continue;
      const NodeId behind = user - present;
      Digest& hash = hashes[node - users.first];
      if (added_ != nullptr && behind < added_->nodes() && !added_->name(behind).empty())
        hasher.blank(added_->name(behind), &hash);
      else
        hash = blank_;
    }
    hasher.flush();
  }

  void add_leaves(NodeHasher& hasher, NodeRange users, std::span<const Digest> hashes) {
    for (NodeId first = users.first; first < users.last; first += std::min(kLeafNodes, users.last - first)) {
      const NodeId count = std::min(kLeafNodes, users.last - first);
      hasher.leaf(first, hashes.subspan(first - users.first, count), &leaves_[first / kLeafNodes]);
    }
    hasher.flush();
  }

  const Contents& contents_;
  const Embedding* embedding_;
  const NameList* added_;
  NodeId users_;
  std::vector<Digest> leaves_;
  std::deque<NodeHasher> hashers_;  // one a thread
  Digest blank_{};
};

/// Directions, or names of relations and which of them are together.
void add_layers(const Layers& layers, MessageWords& words) {
  words.add(layers.directed ? 1 : 0);
  words.add(static_cast<std::uint32_t>(layers.relations.size()));
  for (const Relation& relation : layers.relations) words.add_text(relation.name);
  words.add(static_cast<std::uint32_t>(layers.subsets.size()));
  for (const std::vector<std::uint32_t>& subset : layers.subsets) {
    words.add(static_cast<std::uint32_t>(subset.size()));
    for (const std::uint32_t relation : subset) words.add(relation);
  }
}

/// What decides the roles of pairs, and which negatives there are.
void add_pairs(const PairRules& rules, MessageWords& words) {
  const std::uint64_t numbers[] = {rules.key,         rules.below_valid, rules.below_test,
                                   rules.below_label, rules.negatives,   rules.uniform};
  words.add_all(std::span<const std::uint64_t>(numbers));
  words.add(rules.apart ? 1 : 0);
}

void add_constants(const Manifest& manifest, const Embedding* embedding, MessageWords& words) {
  words.add(kRootTag);
  const std::uint32_t version = manifest.names ? kDigestOfNames : kVersion;
  words.add(version + (manifest.layers.any() ? kDigestOfLayers : 0) + (manifest.pairs ? kDigestOfPairs : 0) +
            (manifest.graphs ? kDigestOfGraphs : 0) + (manifest.weight_unit ? kDigestOfUnits : 0));
  if (manifest.layers.any()) add_layers(manifest.layers, words);
  if (manifest.pairs) add_pairs(manifest.pairs->rules, words);
  if (manifest.weight_unit) {
    words.add(static_cast<std::uint32_t>(-manifest.weight_unit->exponent));
    words.add(manifest.weight_unit->self);
  }
  words.add(manifest.nodes);
  words.add(manifest.features);
  words.add(manifest.classes);
  if (manifest.graphs) words.add(manifest.graphs->count);
  if (embedding == nullptr) return words.add(0);
  words.add(1 + static_cast<std::uint32_t>(embedding->spec().kept.keep));
  const PropagationSpec& spec = embedding->spec();
  words.add(spec.levels);
  words.add(spec.scale_bits);
  words.add(spec.all_rows ? 1 : 0);
  const double rho = spec.rho + 0.0;
  words.add_all(std::span(&rho, 1));
  if (embedding->has_sums()) return;
  words.add(spec.kept.type == FeatureType::f16 ? 1 : 0);
  words.add(static_cast<std::uint32_t>(spec.kept.exponent));
}

/// Labels and splits of whole graphs, some to a leaf.
std::vector<Digest> leaves_of_graphs(const WholeGraphs& graphs) {
  std::vector<Digest> leaves;
  std::array<std::vector<NodeId>::const_iterator, 3> next{};
  constexpr std::array kNames{SplitName::train, SplitName::valid, SplitName::test};
  for (std::size_t i = 0; i < kNames.size(); ++i) next[i] = graphs.members(kNames[i]).begin();
  MessageWords words;
  for (std::uint32_t first = 0; first < graphs.count();) {
    const std::uint32_t count = std::min(kLeafGraphs, graphs.count() - first), last = first + count;
    words.shrink(0);
    for (const std::uint32_t word : {kGraphsTag, first, count}) words.add(word);
    for (std::uint32_t graph = first; graph < last; ++graph) {
      words.add(static_cast<std::uint32_t>(graphs.label(graph)));
      std::uint32_t splits = 0;
      for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (next[i] == graphs.members(kNames[i]).end() || *next[i] != graph) continue;
        splits += 1U << i;
        ++next[i];
      }
      words.add(splits);
    }
    leaves.push_back(blake2b(words.bytes()));
    first = last;
  }
  return leaves;
}

}  // namespace

std::string digest_text(const Digest& digest) {
  return to_hex(digest);
}

Digest content_digest(const LiveStore& store) {
  return content_digest(store.manifest(), store.contents(), store.propagated() ? &store.embedding() : nullptr,
                        store.budget());
}

Digest content_digest(const Manifest& manifest, const Contents& contents, const Embedding* embedding,
                      MemoryBudget& budget, const NameList* added) {
  if (sodium_init() < 0) throw ResourceError("libsodium does not start on this machine");
  const NodeId nodes = manifest.nodes, users = manifest.user_nodes();
  LeafMaker maker(contents, embedding, added, nodes, users);
  // New nodes move the copies of those that there are.
  if (contents.order().is_identity() && (users == contents.order().users() || !manifest.layers.any())) {
    maker.in_place(nodes);
  } else {
    const std::uint64_t room = memory_shares::kNodeHashes.of(budget) / sizeof(Digest) / kLeafNodes * kLeafNodes;
    const std::uint64_t at_once = std::min<std::uint64_t>(nodes, std::max<std::uint64_t>(room, kLeafNodes));
    const Reservation memory = budget.reserve(at_once * sizeof(Digest), "hashes of nodes");
    std::vector<Digest> hashes(static_cast<std::size_t>(at_once));
    for (std::uint64_t first = 0; first < nodes; first += at_once)
      maker.from_anywhere(
          {static_cast<NodeId>(first), static_cast<NodeId>(std::min<std::uint64_t>(nodes, first + at_once))}, hashes);
  }
  std::vector<Digest> leaves = maker.take();
  const std::vector<Digest> of_graphs = leaves_of_graphs(contents.graphs());
  leaves.insert(leaves.end(), of_graphs.begin(), of_graphs.end());
  MessageWords constants;
  add_constants(manifest, embedding, constants);
  return blake2b(constants.bytes(), std::as_bytes(std::span(leaves)));
}

}  // namespace unweave

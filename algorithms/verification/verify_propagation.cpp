// algorithms/verification/verify_propagation.cpp - all sums of all levels at once, from the files, in one pass in the order
// of the nodes: the identity of engine/sweep/fingerprint.h instead of a propagation of its own.
#include <algorithm>
#include <array>
#include <mutex>
#include <span>
#include <vector>

#include "algorithms/propagation/density.h"
#include "algorithms/propagation/level0.h"
#include "algorithms/verification/verify_checks.h"
#include "engine/graph/row_mask.h"
#include "engine/resources/parallel.h"
#include "engine/resources/watcher.h"
#include "engine/sweep/fingerprint.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kIdentityBytes = std::size_t{256} << 10;  // rows of level 0 at a time, which stay in a cache
constexpr std::size_t kMostBlocks = 128;                        // blocks at a time, where rows are short

/// Keys side by side: the chance to miss something is the product of what each has.
constexpr std::size_t kKeys = 2;

/// Both sides of the identities of all levels, for each key.
class Identities {
 public:
  Identities(const Contents& contents, const Embedding& embedding)
      : contents_(contents), embedding_(embedding), fill_(level0_fill(contents, embedding.spec())) {
    const NodeId nodes = contents.num_nodes();
    for (std::size_t k = 0; k < kKeys; ++k) keys_.emplace_back(nodes, embedding.columns());
    total_.resize(kKeys * embedding.levels());
    if (embedding.cone().all_rows()) return;
    for (std::uint32_t level = 1; level <= embedding.levels(); ++level) {
      RowMask& mask = wanted_.emplace_back(nodes);
      for (NodeId node = 0; node < nodes; ++node)
        if (embedding.cone().contains(level, node)) mask.insert(node);
    }
  }

  static std::uint64_t bytes(const Contents& contents, const Embedding& embedding) {
    const NodeId nodes = contents.num_nodes();
    const std::uint64_t masks = embedding.cone().all_rows() ? 0 : embedding.levels() * RowMask::bytes(nodes);
    return kKeys * FingerprintKey::bytes(nodes, embedding.columns()) + masks;
  }
  /// Buffers of a thread that goes through so many blocks at a time.
  static std::uint64_t worker_bytes(const Contents& contents, std::size_t blocks) {
    const std::uint64_t columns = contents.features().columns();
    const std::uint64_t features = blocks * kBlockNodes * columns * sizeof(float);
    return features + (blocks * kBlockNodes + 1) * columns * sizeof(std::int32_t) +
           contents.graph().max_decoded_bytes();
  }

  /// Adds what the blocks [first, last) of nodes have. Any thread.
  void add(std::size_t first, std::size_t last) {
    const std::uint32_t columns = embedding_.columns();
    const NodeRange range{static_cast<NodeId>(first * kBlockNodes),
                          static_cast<NodeId>(std::min<std::size_t>(contents_.num_nodes(), last * kBlockNodes))};
    std::vector<std::int32_t> level0(std::size_t{range.size()} * columns);
    Part part(total_.size(), columns);
    contents_.graph().read_ahead(first, last);
    for (std::uint32_t level = 1; level <= embedding_.levels(); ++level) embedding_.level(level).read_ahead(range);
    fill_({0, columns}, range, level0.data());
    Graph::BlockBuffer buffer;
    DecodedBlock block;
    for (std::size_t b = first; b < last; ++b) {
      contents_.graph().decode(b, buffer, block);
      const NodeId* list = block.targets;
      for (std::uint32_t i = 0; i < block.nodes; ++i) {
        const NodeId node = block.first + i;
        add_node(node, {list, block.counts[i]}, &level0[std::size_t{node - range.first} * columns], part);
        list += block.counts[i];
      }
    }
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < total_.size(); ++i) {
      const Modulus& modulus = keys_[i / embedding_.levels()].modulus();
      total_[i].sums = modulus.add(total_[i].sums, part.sides[i].sums);
      total_[i].terms = modulus.add(total_[i].terms, part.sides[i].terms);
    }
  }

  [[nodiscard]] bool hold(std::uint32_t level) const {
    for (std::size_t k = 0; k < kKeys; ++k)
      if (total_[place(k, level)].sums != total_[place(k, level)].terms) return false;
    return true;
  }

 private:
  struct Sides {
    std::uint64_t sums = 0, terms = 0;
  };
  /// What a thread has added up, and its space for a row.
  struct Part {
    Part(std::size_t places, std::uint32_t columns) : sides(places), row(columns) {}
    std::vector<Sides> sides;
    std::vector<std::int32_t> row;
  };

  [[nodiscard]] std::size_t place(std::size_t key, std::uint32_t level) const noexcept {
    return key * embedding_.levels() + level - 1;
  }

  void add_node(NodeId node, std::span<const NodeId> targets, std::int32_t* level0, Part& part) const {
    const auto degree = static_cast<std::uint32_t>(targets.size() + 1);
    const std::uint32_t levels = embedding_.levels();
    std::array<std::int32_t, kKeys> weights{};
    const auto weigh = [&](std::uint32_t level) {
      for (std::size_t k = 0; k < kKeys; ++k)
        weights[k] = wanted_.empty() ? keys_[k].list_weight(node, targets)
                                     : keys_[k].list_weight(node, targets, wanted_[level - 1]);
    };
    weigh(1);
    embedding_.stale(0).add_to(node, -1, level0);
    add_terms(1, weights, level0, part);
    for (std::uint32_t level = 1; level <= levels; ++level) {
      const StateRow kept = embedding_.level(level).row(node);
      if (!kept.exists()) continue;
      add_sums(level, node, kept, part);
      if (level == levels || !fits(kept, degree)) continue;
      density_from_sums(kept, embedding_.columns(), degree, part.row.data());
      embedding_.stale(level).add_to(node, -1, part.row.data());
      if (!wanted_.empty()) weigh(level + 1);
      add_terms(level + 1, weights, part.row.data(), part);
    }
  }

  /// Whether the quotients of a row fit 32 bits, as those of all rows of a propagation do. Where they do not, the row's terms
  /// are left out, and the identity fails.
  [[nodiscard]] bool fits(const StateRow& kept, std::uint32_t degree) const {
    const std::int64_t most = (std::int64_t{1} << embedding_.spec().scale_bits) * degree;
    return kept.wide == nullptr || std::all_of(kept.wide, kept.wide + embedding_.columns(),
                                               [&](std::int64_t sum) { return sum <= most && sum >= -most; });
  }

  void add_sums(std::uint32_t level, NodeId node, const StateRow& kept, Part& part) const {
    const std::uint32_t columns = embedding_.columns();
    for (std::size_t k = 0; k < kKeys; ++k) {
      const FingerprintKey& key = keys_[k];
      const std::uint64_t fingerprint = fingerprint_of(kept, columns, key.columns(0));
      std::uint64_t& sum = part.sides[place(k, level)].sums;
      sum = key.modulus().add(sum, key.modulus().multiply(key.weight(node), fingerprint));
    }
  }

  void add_terms(std::uint32_t level, const std::array<std::int32_t, kKeys>& weights, const std::int32_t* published,
                 Part& part) const {
    for (std::size_t k = 0; k < kKeys; ++k) {
      if (weights[k] == 0) continue;  // nobody reads it
      const std::uint64_t fingerprint = fingerprint_of(std::span(published, embedding_.columns()), keys_[k].columns(0));
      std::uint64_t& sum = part.sides[place(k, level)].terms;
      sum = keys_[k].modulus().add(sum, keys_[k].modulus().multiply(weights[k], fingerprint));
    }
  }

  const Contents& contents_;
  const Embedding& embedding_;
  TileFill fill_;
  std::vector<RowMask> wanted_;  ///< [level - 1]; none for all rows
  std::vector<FingerprintKey> keys_;
  std::mutex mutex_;
  std::vector<Sides> total_;
};

/// Goes through all blocks. Throws ResourceError where the budget does not hold a block of rows.
void add_all(const VerifyContext& context, Identities& identities) {
  const Contents& contents = context.contents;
  const std::uint64_t least = Identities::worker_bytes(contents, 1), available = context.budget.available();
  const std::size_t workers = std::clamp<std::size_t>(available / least, 1, active_threads());
  std::size_t step = std::clamp<std::size_t>(
      kIdentityBytes / (kBlockNodes * std::max(1U, contents.features().columns()) * sizeof(std::int32_t)), 1,
      kMostBlocks);
  while (step > 1 && workers * Identities::worker_bytes(contents, step) > available) step /= 2;
  const Reservation rows =
      context.budget.reserve(workers * Identities::worker_bytes(contents, step), "rows being verified");
  const std::size_t blocks = contents.graph().num_blocks();
  const WatchedStep watched("propagation", blocks, "blocks");
  run_items((blocks + step - 1) / step, workers, [&](std::size_t item, std::size_t) {
    const std::size_t first = item * step, last = std::min(blocks, first + step);
    identities.add(first, last);
    watched.advance(last - first);
  });
}

}  // namespace

void check_propagation(const VerifyContext& context) {
  if (context.embedding == nullptr || context.embedding->levels() == 0) return;
  const Embedding& embedding = *context.embedding;
  std::vector<std::uint32_t> wrong;
  try {
    const Reservation memory =
        context.budget.reserve(Identities::bytes(context.contents, embedding), "checks of the sums");
    Identities identities(context.contents, embedding);
    add_all(context, identities);
    for (std::uint32_t level = 1; level <= embedding.levels(); ++level)
      if (!identities.hold(level)) wrong.push_back(level);
  } catch (const ResourceError& error) {
    context.report.remarks.push_back("propagation: the sums of all rows were not proved: " + error.message());
    return;
  }
  for (std::uint32_t level = 1; level <= embedding.levels(); ++level)
    context.report.proved += embedding.cone().rows(level);
  for (const std::uint32_t level : wrong) blame_sums(context, level);
}

}  // namespace unweave

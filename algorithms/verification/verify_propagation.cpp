// algorithms/verification/verify_propagation.cpp - all sums of all levels at once, from the files,
// in one pass in the order of the nodes: the identity of engine/sweep/fingerprint.h instead of a
// propagation of its own.
#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "algorithms/propagation/density.h"
#include "algorithms/propagation/level0.h"
#include "algorithms/verification/verify_checks.h"
#include "engine/graph/row_mask.h"
#include "engine/resources/parallel.h"
#include "engine/resources/watcher.h"
#include "engine/sweep/fingerprint.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kIdentityBytes = std::size_t{256} << 10;  // rows of level 0 at a time, which stay in a cache
constexpr std::size_t kMostBlocks = 128;                        // blocks at a time, where rows are short
constexpr std::uint64_t kAheadBytes = std::uint64_t{16}
                                      << 20;  // rows of all levels that are asked for before their turn

/// Keys side by side: the chance to miss something is the product of what each has.
constexpr std::size_t kKeys = 2;

/// Both sides of the identities of all levels, for each key.
class Identities {
 public:
  Identities(const Contents& contents, const Embedding& embedding)
      : contents_(contents), embedding_(embedding), fill_(level0_fill(contents, embedding.spec())) {
    const NodeId nodes = contents.num_nodes();
    for (std::size_t k = 0; k < kKeys; ++k) keys_.emplace_back(nodes, embedding.columns());
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
  /// What a thread has that goes through so many blocks at a time.
  static std::uint64_t worker_bytes(const Contents& contents, const Embedding& embedding, std::size_t blocks) {
    const std::uint64_t columns = embedding.columns(), levels = embedding.levels(), rows = blocks * kBlockNodes;
    return rows * columns * (sizeof(float) + sizeof(std::int32_t)) + contents.graph().max_decoded_bytes() +
           kKeys * levels * (2 * ColumnTotals::bytes(columns) + rows * sizeof(std::int32_t)) +
           rows * (sizeof(std::int32_t*) + (kKeys + 2) * sizeof(std::uint32_t));
  }
  void make_workers(std::size_t workers, std::size_t blocks) {
    for (std::size_t i = 0; i < workers; ++i) workers_.emplace_back(*this, blocks * kBlockNodes);
  }

  /// The blocks [first, last) will be added soon.
  void read_ahead(std::size_t first, std::size_t last) const {
    const NodeRange range = nodes_of(first, last);
    if (range.first >= range.last) return;
    contents_.graph().read_ahead(first, std::min(last, contents_.graph().num_blocks()));
    contents_.features().read_ahead(range, 0, embedding_.columns());
    for (std::uint32_t level = 1; level <= embedding_.levels(); ++level) embedding_.level(level).read_ahead(range);
  }

  /// Adds what the blocks [first, last) of nodes have, `blocks` of make_workers() at most. Each
  /// worker on a thread of its own.
  void add(std::size_t first, std::size_t last, std::size_t worker) {
    Worker& w = workers_[worker];
    const std::uint32_t columns = embedding_.columns();
    const NodeRange range = nodes_of(first, last);
    fill_({0, columns}, range, w.rows.data());
    weigh(first, last, range.first, w);
    for (NodeId i = 0; i < range.size(); ++i)
      embedding_.stale(0).add_to(range.first + i, -1, &w.rows[std::size_t{i} * columns]);
    for (std::uint32_t level = 1; level <= embedding_.levels(); ++level) {
      for (std::size_t k = 0; k < kKeys; ++k)
        w.terms[place(k, level)].add(w.rows.data(), range.size(), w.list_weights(weights_of(level), k));
      add_sums(level, range, w);
      if (level < embedding_.levels()) publish(level, range, w);
    }
  }

  /// Whether the sums of the level are those of their terms, once all blocks were added.
  [[nodiscard]] bool hold(std::uint32_t level) {
    for (std::size_t k = 0; k < kKeys; ++k) {
      const ColumnFactors factors = keys_[k].columns(0);
      std::uint64_t sums = 0, terms = 0;
      for (Worker& w : workers_) {
        sums = factors.modulus.add(sums, w.sums[place(k, level)].take(factors));
        sums = factors.modulus.add(sums, w.wide[place(k, level)]);
        terms = factors.modulus.add(terms, w.terms[place(k, level)].take(factors));
      }
      if (sums != terms) return false;
    }
    return true;
  }

 private:
  /// What a thread has added up, and its space for some rows.
  struct Worker {
    Worker(const Identities& all, std::size_t most)
        : most_rows(most),
          rows(most * all.embedding_.columns()),
          degrees(most),
          lists(kKeys * all.weighed_levels() * most),
          wide(kKeys * all.embedding_.levels()) {
      for (std::size_t i = 0; i < wide.size(); ++i) {
        sums.emplace_back(all.embedding_.columns());
        terms.emplace_back(all.embedding_.columns());
      }
      for (auto& one : weights) one.reserve(most);
      kept.reserve(most);
    }
    [[nodiscard]] std::int32_t* list_weights(std::size_t level, std::size_t key) {
      return &lists[(level * kKeys + key) * most_rows];
    }

    std::size_t most_rows;
    std::vector<std::int32_t> rows;  ///< what has been published of a level
    std::vector<std::uint32_t> degrees;
    std::vector<std::int32_t> lists;  ///< weights of the lists
    std::vector<ColumnTotals> sums, terms;
    std::vector<std::uint64_t> wide;  ///< what sums beyond 32 bits add
    std::vector<const std::int32_t*> kept;
    std::array<std::vector<std::int32_t>, kKeys> weights;  ///< those of the nodes of `kept`
    Graph::BlockBuffer buffer;
  };

  [[nodiscard]] NodeRange nodes_of(std::size_t first, std::size_t last) const {
    const std::size_t nodes = contents_.num_nodes();
    return {static_cast<NodeId>(std::min(nodes, first * kBlockNodes)),
            static_cast<NodeId>(std::min(nodes, last * kBlockNodes))};
  }
  [[nodiscard]] std::size_t place(std::size_t key, std::uint32_t level) const noexcept {
    return key * embedding_.levels() + level - 1;
  }
  /// Weights differ from level to level where not all rows are kept.
  [[nodiscard]] std::size_t weighed_levels() const noexcept { return wanted_.empty() ? 1 : wanted_.size(); }
  [[nodiscard]] std::size_t weights_of(std::uint32_t level) const noexcept { return wanted_.empty() ? 0 : level - 1; }

  /// Degrees of the nodes of some blocks, and the weights of their lists.
  void weigh(std::size_t first, std::size_t last, NodeId begin, Worker& w) const {
    DecodedBlock block;
    for (std::size_t b = first; b < last; ++b) {
      contents_.graph().decode(b, w.buffer, block);
      const NodeId* list = block.targets;
      for (std::uint32_t i = 0; i < block.nodes; ++i) {
        const NodeId node = block.first + i;
        const std::span<const NodeId> targets(list, block.counts[i]);
        list += block.counts[i];
        w.degrees[node - begin] = contents_.graph().degree(node);
        const std::uint32_t self = contents_.graph().self_weight();
        const std::uint32_t* const beside =
            block.weights == nullptr ? nullptr : block.weights + (targets.data() - block.targets);
        for (std::size_t k = 0; k < kKeys; ++k)
          for (std::size_t level = 0; level < weighed_levels(); ++level)
            w.list_weights(level, k)[node - begin] =
                keys_[k].list_weight(node, self, targets, beside, wanted_.empty() ? nullptr : &wanted_[level]);
      }
    }
  }

  void add_sums(std::uint32_t level, NodeRange range, Worker& w) const {
    const std::uint32_t columns = embedding_.columns();
    w.kept.clear();
    for (auto& one : w.weights) one.clear();
    for (NodeId node = range.first; node < range.last; ++node) {
      const StateRow row = embedding_.level(level).row(node);
      if (row.narrow != nullptr) w.kept.push_back(row.narrow);
      for (std::size_t k = 0; row.exists() && k < kKeys; ++k) {
        const std::int32_t weight = keys_[k].weight(node);
        if (row.narrow != nullptr) {
          w.weights[k].push_back(weight);
        } else {
          const ColumnFactors factors = keys_[k].columns(0);
          std::uint64_t& sum = w.wide[place(k, level)];
          sum = factors.modulus.add(sum, factors.modulus.multiply(weight, fingerprint_of(row, columns, factors)));
        }
      }
    }
    for (std::size_t k = 0; k < kKeys && !w.kept.empty(); ++k) w.sums[place(k, level)].add(w.kept, w.weights[k].data());
  }

  /// What the rows of a level have published, zeros where there is no row or its quotients do not
  /// fit.
  void publish(std::uint32_t level, NodeRange range, Worker& w) const {
    const std::uint32_t columns = embedding_.columns();
    for (NodeId i = 0; i < range.size(); ++i) {
      std::int32_t* const out = &w.rows[std::size_t{i} * columns];
      const StateRow kept = embedding_.level(level).row(range.first + i);
      if (!kept.exists() || !fits(kept, w.degrees[i])) {
        std::fill_n(out, columns, 0);
        continue;
      }
      density_from_sums(kept, columns, w.degrees[i], out);
      embedding_.stale(level).add_to(range.first + i, -1, out);
    }
  }

  /// Whether the quotients of a row are within the scale, as those of all rows of a propagation
  /// are. Where they are not, the row's terms are left out, and the identity fails.
  [[nodiscard]] bool fits(const StateRow& kept, std::uint32_t degree) const {
    const std::int64_t most = (std::int64_t{1} << embedding_.spec().scale_bits) * degree;
    const auto are_within = [&](const auto* sums, auto limit) {
      bool within = true;
      for (std::uint32_t c = 0; c < embedding_.columns(); ++c) within &= sums[c] <= limit && sums[c] >= -limit;
      return within;
    };
    if (kept.narrow == nullptr) return are_within(kept.wide, most);
    constexpr std::int32_t kMostNarrow = std::numeric_limits<std::int32_t>::max();
    return most > kMostNarrow || are_within(kept.narrow, static_cast<std::int32_t>(most));
  }

  const Contents& contents_;
  const Embedding& embedding_;
  TileFill fill_;
  std::vector<RowMask> wanted_;  ///< [level - 1]; none for all rows
  std::vector<FingerprintKey> keys_;
  std::vector<Worker> workers_;
};

/// Goes through all blocks. Throws ResourceError where the budget does not hold a block of rows.
void add_all(const VerifyContext& context, Identities& identities, Reservation& memory) {
  const Contents& contents = context.contents;
  const Embedding& embedding = *context.embedding;
  const auto bytes = [&](std::size_t blocks) { return Identities::worker_bytes(contents, embedding, blocks); };
  const std::uint64_t available = context.budget.available();
  const std::size_t workers = std::clamp<std::size_t>(available / bytes(1), 1, active_threads());
  const std::uint64_t block_bytes = kBlockNodes * std::max(1U, embedding.columns()) * sizeof(std::int32_t);
  std::size_t step = std::clamp<std::size_t>(kIdentityBytes / block_bytes, 1, kMostBlocks);
  while (step > 1 && workers * bytes(step) > available) step /= 2;
  memory = context.budget.reserve(workers * bytes(step), "rows being verified");
  identities.make_workers(workers, step);
  const std::size_t blocks = contents.graph().num_blocks();
  const std::size_t ahead =
      std::max<std::size_t>(workers, kAheadBytes / (block_bytes * step * (embedding.levels() + std::size_t{1})));
  const WatchedStep watched("propagation", blocks, "blocks");
  run_items((blocks + step - 1) / step, workers, [&](std::size_t item, std::size_t worker) {
    const std::size_t first = item * step, last = std::min(blocks, first + step);
    identities.read_ahead(item == 0 ? 0 : first + ahead * step, first + (ahead + 1) * step);
    if (const FeatureFile* const file = contents.features().file_from(first * std::uint64_t{kBlockNodes}))
      file->verify();
    identities.add(first, last, worker);
    watched.advance(last - first);
  });
}

}  // namespace

void check_propagation(const VerifyContext& context) {
  if (context.embedding != nullptr && !context.embedding->has_sums()) return check_kept_rows(context);
  if (context.embedding == nullptr || context.embedding->levels() == 0) return;
  const Embedding& embedding = *context.embedding;
  std::vector<std::uint32_t> wrong;
  try {
    const Reservation memory =
        context.budget.reserve(Identities::bytes(context.contents, embedding), "checks of the sums");
    Reservation rows;
    Identities identities(context.contents, embedding);
    add_all(context, identities, rows);
    for (std::uint32_t level = 1; level <= embedding.levels(); ++level)
      if (!identities.hold(level)) wrong.push_back(level);
  } catch (const ResourceError& error) {
    context.report.remarks.push_back("propagation: the sums of all rows were not proved: " + error.message());
    return check_some_sums(context);
  }
  for (std::uint32_t level = 1; level <= embedding.levels(); ++level)
    context.report.proved += embedding.cone().rows(level);
  for (const std::uint32_t level : wrong) blame_sums(context, level);
}

}  // namespace unweave

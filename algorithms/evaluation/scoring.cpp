// algorithms/evaluation/scoring.cpp - margins by chunks, sorted where they come in another order
// than wanted.
#include "algorithms/evaluation/scoring.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/node_rows.h"
#include "engine/ingest/row_sorter.h"
#include "engine/resources/memory_shares.h"

namespace unweave {
namespace {

/// Scores positions as they come, a chunk at a time.
class Chunks {
 public:
  Chunks(const LiveStore& store, const ModelRecord& record)
      : store_(store),
        record_(record),
        units_(row_units(store, record.rows)),
        classes_(shape_of(record.model).classes),
        chunk_(record.model, store.budget()) {}

  [[nodiscard]] std::size_t classes() const noexcept { return classes_; }
  [[nodiscard]] std::size_t rows() const noexcept { return chunk_.rows; }

  void add(NodeId position, const ScoreSink& sink) {
    positions_.push_back(position);
    if (positions_.size() == chunk_.rows) flush(sink);
  }
  void flush(const ScoreSink& sink) {
    margins_.resize(positions_.size() * classes_);
    score_keys(*units_, record_, positions_, margins_.data());
    ids_.clear();
    const bool are_nodes = record_.rows.unit() == RowUnit::node;
    for (const NodeId one : positions_) ids_.push_back(are_nodes ? store_.contents().order().user(one) : one);
    sink(ids_, margins_);
    positions_.clear();
  }

 private:
  const LiveStore& store_;
  const ModelRecord& record_;
  std::unique_ptr<const RowUnits> units_;
  std::size_t classes_;
  ScoredChunk chunk_;
  std::vector<NodeId> positions_;
  std::vector<std::int64_t> ids_;
  std::vector<double> margins_;
};

void add_all(const LiveStore& store, Chunks& chunks, const ScoreSink& sink) {
  for (NodeId node = 0; node < store.contents().num_nodes(); ++node)
    if (store.embedding().is_target(node) && store.contents().order().is_first_copy(node)) chunks.add(node, sink);
  chunks.flush(sink);
}

}  // namespace

void score_all(const LiveStore& store, const ModelRecord& record, const ScoreSink& sink) {
  require_rows_of_nodes(record.rows, "a prediction of nodes");
  Chunks chunks(store, record);
  if (store.contents().order().is_identity()) return add_all(store, chunks, sink);
  const Reservation memory =
      store.budget().reserve(memory_shares::kRowSort.of(store.budget()), "scores on their way to their ids");
  RowSorter sorter(store.temporary_folder(), store.contents().order().users(), memory.bytes());
  const std::size_t classes = chunks.classes();
  std::vector<std::uint32_t> words(classes * sizeof(double) / sizeof(std::uint32_t));
  add_all(store, chunks, [&](std::span<const std::int64_t> ids, std::span<double> margins) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::memcpy(words.data(), &margins[i * classes], classes * sizeof(double));
      sorter.add(static_cast<NodeId>(ids[i]), words);
    }
  });
  std::vector<std::int64_t> ids;
  std::vector<double> margins;
  const auto flush = [&] {
    sink(ids, margins);
    ids.clear();
    margins.clear();
  };
  sorter.drain([&](NodeId id, std::span<const std::uint32_t> row) {
    ids.push_back(id);
    margins.resize(margins.size() + classes);
    std::memcpy(&margins[margins.size() - classes], row.data(), classes * sizeof(double));
    if (ids.size() == chunks.rows()) flush();
  });
  flush();
}

void score_some(const LiveStore& store, const ModelRecord& record, std::span<const NodeId> nodes,
                const ScoreSink& sink) {
  require_rows_of_nodes(record.rows, "a prediction of nodes");
  require_rows(store, record, nodes, "nothing can be said of it");
  Chunks chunks(store, record);
  for (const NodeId node : nodes) chunks.add(store.contents().order().position(node), sink);
  chunks.flush(sink);
}

void score_graphs(const LiveStore& store, const ModelRecord& record, std::span<const NodeId> graphs,
                  const ScoreSink& sink) {
  Chunks chunks(store, record);
  for (const NodeId graph : graphs) chunks.add(graph, sink);
  chunks.flush(sink);
}

}  // namespace unweave

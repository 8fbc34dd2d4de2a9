// engine/ingest/feature_builder.cpp - bounds, rounds and reorders batches of rows on their way to
// feature files.
#include "engine/ingest/feature_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/graph/span_share.h"
#include "engine/ingest/row_norm.h"
#include "engine/ingest/row_sorter.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/pipeline.h"
#include "storage/formats/feature_writer.h"
#include "storage/formats/store_layout.h"

namespace unweave {
namespace {

constexpr std::size_t kBatchValues = std::size_t{1} << 17;
constexpr std::size_t kBytesInBatch = sizeof(double) + sizeof(std::uint32_t) + sizeof(float);  // a value

struct Batch {
  NodeId first = 0;
  NodeId rows = 0;
  FeatureBatch read;           // as it came
  std::vector<double> row;     // scratch of one row
  std::vector<float> bounded;  // what is written: all values of dense rows, the non-zeros of sparse ones
  RowNorms norms;              // norms of its rows
};

/// The matrix to write.
struct FeatureShape {
  NodeId nodes;
  std::uint32_t columns;
  FeatureLayout layout;
};

/// Memory of the batches on their way.
std::uint64_t batch_bytes(std::uint32_t columns) {
  return std::max<std::uint64_t>(kBatchValues, columns) * kBytesInBatch * pipeline_items();
}

/// What all builders share: budget, spans, and the change from one span's file to the next.
template <class Writer>
class SpanFiles {
 public:
  SpanFiles(const std::filesystem::path& store, const FeatureShape& shape, MemoryBudget& budget)
      : store_(store),
        shape_(shape),
        batches_(budget.reserve(batch_bytes(shape.columns), "batches of feature rows")),
        span_(budget.reserve(memory_shares::kFeatureSpan.of(budget), "features of one span")) {}

  /// The file that takes row `node`, and the row after its last one.
  Writer& writer_of(NodeId node) {
    const NodeRange range = span_range(shape_.nodes, node / span_nodes(shape_.nodes));
    if (!writer_) writer_.emplace(store_, range, shape_.columns, shape_.layout, span_.bytes());
    end_ = range.last;
    return *writer_;
  }
  [[nodiscard]] NodeId end() const noexcept { return end_; }
  /// Rows before `node` are written.
  void close_before(NodeId node) {
    if (node != end_) return;
    finished_.push_back(writer_->finish());
    writer_.reset();
  }
  std::vector<FileEntry> take() { return std::move(finished_); }

 private:
  const std::filesystem::path& store_;
  FeatureShape shape_;
  Reservation batches_;
  Reservation span_;
  std::optional<Writer> writer_;
  NodeId end_ = 0;
  std::vector<FileEntry> finished_;
};

void add_dense(SpanFiles<DenseFeatureWriter>& files, NodeId node, std::span<const float> values,
               std::uint32_t columns) {
  while (!values.empty()) {
    DenseFeatureWriter& writer = files.writer_of(node);
    const NodeId rows = std::min(files.end() - node, static_cast<NodeId>(values.size() / columns));
    writer.add(values.first(std::size_t{rows} * columns));
    values = values.subspan(std::size_t{rows} * columns);
    node += rows;
    files.close_before(node);
  }
}

/// Rows whose place is not the one in which they come.
class Replacer {
 public:
  Replacer(const std::filesystem::path& store, std::span<const NodeId> positions, MemoryBudget& budget)
      : positions_(positions),
        memory_(budget.reserve(memory_shares::kRowSort.of(budget), "feature rows on their way to their positions")),
        sorter_(store, static_cast<NodeId>(positions.size()), memory_.bytes()) {}

  void add(NodeId row, std::span<const std::uint32_t> columns, std::span<const float> values) {
    words_.assign(columns.begin(), columns.end());
    words_.resize(columns.size() + values.size());
    if (!values.empty()) std::memcpy(words_.data() + columns.size(), values.data(), values.size_bytes());
    sorter_.add(positions_[row], words_);
  }
  [[nodiscard]] RowSorter& sorter() noexcept { return sorter_; }

 private:
  std::span<const NodeId> positions_;
  Reservation memory_;
  RowSorter sorter_;
  std::vector<std::uint32_t> words_;
};

/// Dense rows in the reader's order, straight to the files or by way of a Replacer.
class DenseSink {
 public:
  DenseSink(const std::filesystem::path& store, const FeatureShape& shape, std::span<const NodeId> positions,
            MemoryBudget& budget)
      : columns_(shape.columns) {
    if (!positions.empty()) replacer_.emplace(store, positions, budget);
    files_.emplace(store, shape, budget);
  }
  void add(const Batch& batch) {
    if (!replacer_) return add_dense(*files_, batch.first, batch.bounded, columns_);
    for (NodeId r = 0; r < batch.rows; ++r)
      replacer_->add(batch.first + r, {}, std::span(batch.bounded).subspan(std::size_t{r} * columns_, columns_));
  }
  std::vector<FileEntry> finish() {
    if (replacer_) {
      std::vector<float> rows;
      NodeId first = 0;
      const auto flush = [&](NodeId next) {
        add_dense(*files_, first, rows, columns_);
        rows.clear();
        first = next;
      };
      replacer_->sorter().drain([&](NodeId position, std::span<const std::uint32_t> row) {
        if (rows.size() + row.size() > kBatchValues) flush(position);
        rows.resize(rows.size() + row.size());
        std::memcpy(rows.data() + rows.size() - row.size(), row.data(), row.size_bytes());
      });
      flush(0);
    }
    return files_->take();
  }

 private:
  std::uint32_t columns_;
  std::optional<Replacer> replacer_;
  std::optional<SpanFiles<DenseFeatureWriter>> files_;
};

/// Sparse rows in the reader's order, straight to the files or by way of a Replacer. Explicit zeros
/// are left out.
class SparseSink {
 public:
  SparseSink(const std::filesystem::path& store, const FeatureShape& shape, std::span<const NodeId> positions,
             MemoryBudget& budget) {
    if (!positions.empty()) replacer_.emplace(store, positions, budget);
    files_.emplace(store, shape, budget);
  }
  void add(const Batch& batch) {
    for (NodeId r = 0; r < batch.rows; ++r) {
      columns_.clear();
      values_.clear();
      for (std::uint64_t i = batch.read.indptr[r]; i < batch.read.indptr[r + 1]; ++i) {
        if (batch.bounded[i] == 0) continue;
        columns_.push_back(batch.read.indices[i]);
        values_.push_back(batch.bounded[i]);
      }
      if (replacer_)
        replacer_->add(batch.first + r, columns_, values_);
      else
        write(batch.first + r, columns_, values_);
    }
  }
  std::vector<FileEntry> finish() {
    if (replacer_)
      replacer_->sorter().drain([&](NodeId position, std::span<const std::uint32_t> row) {
        values_.resize(row.size() / 2);
        if (!values_.empty()) std::memcpy(values_.data(), row.data() + values_.size(), values_.size() * sizeof(float));
        write(position, row.first(values_.size()), values_);
      });
    return files_->take();
  }

 private:
  void write(NodeId node, std::span<const std::uint32_t> columns, std::span<const float> values) {
    files_->writer_of(node).add(columns, values);
    files_->close_before(node + 1);
  }

  std::optional<Replacer> replacer_;
  std::optional<SpanFiles<SparseFeatureWriter>> files_;
  std::vector<std::uint32_t> columns_;
  std::vector<float> values_;
};

bool read_batch(FeatureReader& reader, std::size_t max_values, Batch& batch) {
  if (!reader.next(batch.read, max_values)) return false;
  batch.first = static_cast<NodeId>(batch.read.first_row);
  batch.rows = static_cast<NodeId>(batch.read.rows);
  return true;
}

void bound_stored_values(Batch& batch, const FeatureShape& shape, double divisor) {
  const bool sparse = batch.read.sparse;
  const std::size_t columns = shape.columns;
  batch.bounded.resize(batch.read.values.size());
  batch.norms = {};
  for (std::size_t r = 0; r < batch.rows; ++r) {
    const std::size_t begin = sparse ? static_cast<std::size_t>(batch.read.indptr[r]) : r * columns;
    const std::size_t end = sparse ? static_cast<std::size_t>(batch.read.indptr[r + 1]) : begin + columns;
    const double norm = bound_row(std::span(batch.read.values).subspan(begin, end - begin),
                                  std::span(batch.bounded).subspan(begin, end - begin), divisor);
    batch.norms.add(std::uint64_t{batch.first} + r, norm, divisor);
  }
  round_to_type(batch.bounded, shape.layout.type);
}

/// Bounds the dense rows that `make(index in batch, row)` gives.
template <class Make>
void bound_rows(Batch& batch, std::size_t columns, FeatureType type, const Make& make) {
  batch.row.resize(columns);
  batch.bounded.resize(std::size_t{batch.rows} * columns);
  for (std::size_t r = 0; r < batch.rows; ++r) {
    make(r, std::span(batch.row));
    bound_row(batch.row, std::span(batch.bounded).subspan(r * columns, columns));
  }
  round_to_type(batch.bounded, type);
}

/// Turns the dense rows in `bounded` into sparse ones.
void drop_zeros(Batch& batch, std::uint32_t columns) {
  batch.read.indptr.assign(1, 0);
  batch.read.indices.clear();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < batch.bounded.size(); ++i) {
    if (batch.bounded[i] != 0) {
      batch.read.indices.push_back(static_cast<std::uint32_t>(i % columns));
      batch.bounded[kept++] = batch.bounded[i];
    }
    if ((i + 1) % columns == 0) batch.read.indptr.push_back(kept);
  }
  batch.bounded.resize(kept);
}

}  // namespace

void RowNorms::add(std::uint64_t row, double norm, double divisor) noexcept {
  largest = std::max(largest, norm);
  if (norm <= divisor * (1 + kNormSlack)) return;
  if (above++ > 0) return;
  first_above = row;
  norm_of_first_above = norm;
}

void RowNorms::add(const RowNorms& others) noexcept {
  if (above == 0) {
    first_above = others.first_above;
    norm_of_first_above = others.norm_of_first_above;
  }
  above += others.above;
  largest = std::max(largest, others.largest);
}

namespace {

/// Leaves the first rows of a batch.
void cut_batch(Batch& batch, NodeId rows) {
  const std::size_t values = batch.read.sparse ? static_cast<std::size_t>(batch.read.indptr[rows])
                                               : batch.read.values.size() / batch.rows * rows;
  if (batch.read.sparse) {
    batch.read.indptr.resize(std::size_t{rows} + 1);
    batch.read.indices.resize(values);
  }
  batch.read.values.resize(values);
  batch.read.rows = batch.rows = rows;
}

/// Brings some rows of a reader to a sink: bound(batch) makes them ready on any thread. The end of
/// the reader, where files turn out to be whole, is for whoever has the last row.
template <class Sink, class Bound>
BuiltFeatures build_rows(Sink& sink, FeatureReader& reader, std::size_t values, const Bound& bound, NodeRange rows,
                         WorkMeter& meter) {
  const auto nodes = static_cast<NodeId>(reader.rows());
  reader.skip(rows.first);
  NodeId next = rows.first;
  const auto read = [&](Batch& batch) {
    if ((next == rows.last && next < nodes) || !read_batch(reader, values, batch)) return false;
    if (batch.rows > rows.last - next) cut_batch(batch, rows.last - next);
    next += batch.rows;
    return true;
  };
  BuiltFeatures built;
  run_pipeline<Batch>(read, bound, [&](const Batch& batch) {
    built.norms.add(batch.norms);
    sink.add(batch);
    meter.advance(batch.rows);
  });
  built.files = sink.finish();
  return built;
}

}  // namespace

BuiltFeatures build_features(const std::filesystem::path& store, FeatureReader& reader, const FeatureLayout& layout,
                             const FeatureScale& scale, std::span<const NodeId> positions, MemoryBudget& budget,
                             WorkMeter& meter, std::optional<RankShare> part) {
  if (part && part->begin == part->end) return {};
  const FeatureShape shape{static_cast<NodeId>(reader.rows()), static_cast<std::uint32_t>(reader.columns()), layout};
  const NodeRange rows = part ? nodes_of(*part, shape.nodes) : NodeRange{0, shape.nodes};
  const auto build = [&](auto&& sink) {
    const auto bound = [&](Batch& batch) { bound_stored_values(batch, shape, scale.divisor); };
    return build_rows(sink, reader, kBatchValues, bound, rows, meter);
  };
  return reader.sparse() ? build(SparseSink(store, shape, positions, budget))
                         : build(DenseSink(store, shape, positions, budget));
}

std::vector<FileEntry> build_standardized_features(const std::filesystem::path& store, FeatureReader& reader,
                                                   const Standardization& standardization, FeatureType type,
                                                   std::span<const NodeId> positions, MemoryBudget& budget,
                                                   WorkMeter& meter) {
  const auto columns = static_cast<std::uint32_t>(reader.columns());
  const auto nodes = static_cast<NodeId>(reader.rows());
  DenseSink sink(store, {nodes, columns, {false, type}}, positions, budget);
  // A sparse row counts as at least one value, so this bounds the rows, which become dense.
  const std::size_t values = reader.sparse() ? std::max<std::size_t>(2, kBatchValues / columns) : kBatchValues;
  const auto bound = [&](Batch& batch) {
    bound_rows(batch, columns, type, [&](std::size_t r, std::span<double> row) {
      expand_row(batch.read, r, row);
      standardization.apply(row);
    });
  };
  return build_rows(sink, reader, values, bound, {0, nodes}, meter).files;
}

std::vector<bool> find_signed_zeros(const Features& features, MemoryBudget& budget) {
  const auto rows = static_cast<NodeId>(std::max<std::size_t>(1, kBatchValues / features.columns()));
  const Reservation memory =
      budget.reserve(active_threads() * std::uint64_t{rows} * features.columns() * sizeof(float), "rows of features");
  std::vector<std::uint8_t> found(num_spans(features.rows()));
  run_items(found.size(), active_threads(), [&](std::size_t span, std::size_t) {
    const NodeRange range = span_range(features.rows(), span);
    std::vector<float> values;
    for (NodeId first = range.first; first < range.last && found[span] == 0;) {
      const NodeId last = first + std::min(rows, range.last - first);
      values.resize(std::size_t{last - first} * features.columns());
      features.read({first, last}, 0, features.columns(), values.data());
      found[span] = has_signed_zero(values) ? 1 : 0;
      first = last;
    }
  });
  return {found.begin(), found.end()};
}

std::vector<FileEntry> rebuild_features(const std::filesystem::path& store, const Features& features, NodeId rows,
                                        FeatureLayout layout, const std::vector<bool>& wanted,
                                        std::span<const NodeId> positions, MemoryBudget& budget, WorkMeter& meter) {
  const std::uint32_t columns = features.columns();
  const auto batch_rows = static_cast<NodeId>(std::max<std::size_t>(1, kBatchValues / columns));
  NodeId next = 0;
  const auto produce = [&](Batch& batch) {
    while (next < rows && positions.empty() && !wanted[next / span_nodes(rows)])
      next += span_range(rows, next / span_nodes(rows)).size();
    if (next >= rows) return false;
    batch.first = next;
    batch.rows = std::min(batch_rows, span_range(rows, next / span_nodes(rows)).last - next);
    next += batch.rows;
    return true;
  };
  const auto read = [&](Batch& batch) {
    batch.bounded.assign(std::size_t{batch.rows} * columns, 0);
    const NodeId last = std::min(batch.first + batch.rows, features.rows());
    if (batch.first < last) features.read({batch.first, last}, 0, columns, batch.bounded.data());
    drop_signs_of_zeros(batch.bounded);
    if (layout.sparse) drop_zeros(batch, columns);
  };
  const auto build = [&](auto&& sink) {
    run_pipeline<Batch>(produce, read, [&](const Batch& batch) {
      sink.add(batch);
      meter.advance(batch.rows);
    });
    return sink.finish();
  };
  const FeatureShape shape{rows, columns, layout};
  return layout.sparse ? build(SparseSink(store, shape, positions, budget))
                       : build(DenseSink(store, shape, positions, budget));
}

std::uint64_t rebuild_bytes(std::uint32_t columns) {
  return batch_bytes(columns);  // the span takes a part of what is left
}

std::vector<FileEntry> build_computed_features(const std::filesystem::path& store, NodeId nodes, std::uint32_t columns,
                                               FeatureType type, const MakeRow& make, MemoryBudget& budget,
                                               WorkMeter& meter) {
  SpanFiles<DenseFeatureWriter> files(store, {nodes, columns, {false, type}}, budget);
  const auto batch_rows = static_cast<NodeId>(std::max<std::size_t>(1, kBatchValues / columns));
  NodeId next = 0;
  run_pipeline<Batch>(
      [&](Batch& batch) {
        batch.first = next;
        batch.rows = std::min(batch_rows, nodes - next);
        next += batch.rows;
        return batch.rows > 0;
      },
      [&](Batch& batch) {
        bound_rows(batch, columns, type,
                   [&](std::size_t r, std::span<double> row) { make(batch.first + static_cast<NodeId>(r), row); });
      },
      [&](const Batch& batch) {
        add_dense(files, batch.first, batch.bounded, columns);
        meter.advance(batch.rows);
      });
  return files.take();
}

}  // namespace unweave

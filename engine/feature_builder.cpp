#include "engine/feature_builder.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "engine/pipeline.h"
#include "engine/row_norm.h"
#include "storage/feature_writer.h"
#include "storage/store_layout.h"

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
};

/// What all builders share: budget, spans, and the change from one span's file to the next.
template <class Writer>
class SpanFiles {
 public:
  SpanFiles(const std::filesystem::path& store, NodeId nodes, std::uint32_t columns, MemoryBudget& budget)
      : store_(store),
        nodes_(nodes),
        columns_(columns),
        batches_(budget.reserve(std::max<std::uint64_t>(kBatchValues, columns) * kBytesInBatch * pipeline_items(),
                                "batches of feature rows")),
        span_(budget.reserve(budget.available() / 2, "features of one span")) {}

  /// The file that takes row `node`, and the row after its last one.
  Writer& writer_of(NodeId node) {
    const NodeRange range = span_range(nodes_, node / span_nodes(nodes_));
    if (!writer_) writer_.emplace(store_, range, columns_, span_.bytes());
    end_ = range.last;
    return *writer_;
  }
  [[nodiscard]] NodeId end() const noexcept { return end_; }
  /// Rows before `node` are written.
  void close_before(NodeId node) {
    if (node != end_) return;
    files_.push_back(writer_->finish());
    writer_.reset();
  }
  std::vector<FileEntry> take() { return std::move(files_); }

 private:
  const std::filesystem::path& store_;
  NodeId nodes_;
  std::uint32_t columns_;
  Reservation batches_;
  Reservation span_;
  std::optional<Writer> writer_;
  NodeId end_ = 0;
  std::vector<FileEntry> files_;
};

void add_dense(SpanFiles<DenseFeatureWriter>& files, const Batch& batch, std::uint32_t columns) {
  std::span<const float> values = batch.bounded;
  NodeId node = batch.first;
  while (!values.empty()) {
    DenseFeatureWriter& writer = files.writer_of(node);
    const NodeId rows = std::min(files.end() - node, static_cast<NodeId>(values.size() / columns));
    writer.add(values.first(std::size_t{rows} * columns));
    values = values.subspan(std::size_t{rows} * columns);
    node += rows;
    files.close_before(node);
  }
}

/// Explicit zeros are left out.
void add_sparse(SpanFiles<SparseFeatureWriter>& files, const Batch& batch) {
  std::vector<std::uint32_t> columns;
  std::vector<float> values;
  for (NodeId r = 0; r < batch.rows; ++r) {
    columns.clear();
    values.clear();
    for (std::uint64_t i = batch.read.indptr[r]; i < batch.read.indptr[r + 1]; ++i) {
      if (batch.bounded[i] == 0) continue;
      columns.push_back(batch.read.indices[i]);
      values.push_back(batch.bounded[i]);
    }
    files.writer_of(batch.first + r).add(columns, values);
    files.close_before(batch.first + r + 1);
  }
}

bool read_batch(FeatureReader& reader, std::size_t max_values, Batch& batch) {
  if (!reader.next(batch.read, max_values)) return false;
  batch.first = static_cast<NodeId>(batch.read.first_row);
  batch.rows = static_cast<NodeId>(batch.read.rows);
  return true;
}

void bound_stored_values(Batch& batch, std::size_t columns) {
  const bool sparse = batch.read.sparse;
  batch.bounded.resize(batch.read.values.size());
  for (std::size_t r = 0; r < batch.rows; ++r) {
    const std::size_t begin = sparse ? static_cast<std::size_t>(batch.read.indptr[r]) : r * columns;
    const std::size_t end = sparse ? static_cast<std::size_t>(batch.read.indptr[r + 1]) : begin + columns;
    bound_row(std::span(batch.read.values).subspan(begin, end - begin),
              std::span(batch.bounded).subspan(begin, end - begin));
  }
}

/// Bounds the dense rows that `make(index in batch, row)` gives.
template <class Make>
void bound_rows(Batch& batch, std::size_t columns, const Make& make) {
  batch.row.resize(columns);
  batch.bounded.resize(std::size_t{batch.rows} * columns);
  for (std::size_t r = 0; r < batch.rows; ++r) {
    make(r, std::span(batch.row));
    bound_row(batch.row, std::span(batch.bounded).subspan(r * columns, columns));
  }
}

}  // namespace

std::vector<FileEntry> build_features(const std::filesystem::path& store, FeatureReader& reader, MemoryBudget& budget,
                                      WorkMeter& meter) {
  const auto nodes = static_cast<NodeId>(reader.rows());
  const auto columns = static_cast<std::uint32_t>(reader.columns());
  const auto read = [&](Batch& batch) { return read_batch(reader, kBatchValues, batch); };
  const auto bound = [&](Batch& batch) { bound_stored_values(batch, columns); };
  if (reader.sparse()) {
    SpanFiles<SparseFeatureWriter> files(store, nodes, columns, budget);
    run_pipeline<Batch>(read, bound, [&](const Batch& batch) {
      add_sparse(files, batch);
      meter.advance(batch.rows);
    });
    return files.take();
  }
  SpanFiles<DenseFeatureWriter> files(store, nodes, columns, budget);
  run_pipeline<Batch>(read, bound, [&](const Batch& batch) {
    add_dense(files, batch, columns);
    meter.advance(batch.rows);
  });
  return files.take();
}

std::vector<FileEntry> build_standardized_features(const std::filesystem::path& store, FeatureReader& reader,
                                                   const Standardization& standardization, MemoryBudget& budget,
                                                   WorkMeter& meter) {
  const auto columns = static_cast<std::uint32_t>(reader.columns());
  SpanFiles<DenseFeatureWriter> files(store, static_cast<NodeId>(reader.rows()), columns, budget);
  // A sparse row counts as at least one value, so this bounds the rows, which become dense.
  const std::size_t values = reader.sparse() ? std::max<std::size_t>(2, kBatchValues / columns) : kBatchValues;
  run_pipeline<Batch>([&](Batch& batch) { return read_batch(reader, values, batch); },
                      [&](Batch& batch) {
                        bound_rows(batch, columns, [&](std::size_t r, std::span<double> row) {
                          expand_row(batch.read, r, row);
                          standardization.apply(row);
                        });
                      },
                      [&](const Batch& batch) {
                        add_dense(files, batch, columns);
                        meter.advance(batch.rows);
                      });
  return files.take();
}

std::vector<FileEntry> build_computed_features(const std::filesystem::path& store, NodeId nodes, std::uint32_t columns,
                                               const MakeRow& make, MemoryBudget& budget, WorkMeter& meter) {
  SpanFiles<DenseFeatureWriter> files(store, nodes, columns, budget);
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
        bound_rows(batch, columns,
                   [&](std::size_t r, std::span<double> row) { make(batch.first + static_cast<NodeId>(r), row); });
      },
      [&](const Batch& batch) {
        add_dense(files, batch, columns);
        meter.advance(batch.rows);
      });
  return files.take();
}

}  // namespace unweave

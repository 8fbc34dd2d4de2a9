// algorithms/api/rows.cpp - rows, edges, labels and scores on their way out of a store.
#include "unweave/rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "algorithms/api/internals.h"
#include "algorithms/evaluation/evaluation.h"
#include "algorithms/evaluation/scoring.h"
#include "algorithms/live/export.h"
#include "algorithms/live/export_all.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/request_draw.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/model_name.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/node_rows.h"
#include "algorithms/models/row_units.h"
#include "algorithms/propagation/schemes.h"
#include "engine/resources/watcher.h"
#include "storage/input/features/feature_reader.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/message.h"
#include "storage/io/number_text.h"
#include "storage/io/shell_word.h"
#include "storage/npy/named_arrays.h"
#include "storage/npy/npy_writer.h"

namespace unweave {
inline namespace v0 {

void require_ids(const Reader& reader, std::span<const NodeId> nodes) {
  for (const NodeId node : nodes)
    if (node >= reader.nodes())
      throw UsageError("node " + std::to_string(node) + ": " + reader.path().string() + " has the nodes 0 to " +
                       std::to_string(reader.nodes() - 1));
}

namespace {

void require_graphs(const Reader& reader, std::span<const NodeId> graphs) {
  const std::uint32_t count = count_graphs(reader);
  for (const NodeId graph : graphs)
    if (graph >= count)
      throw UsageError("graph " + std::to_string(graph) + ": " + reader.path().string() +
                       (count == 0 ? " has no whole graphs" : " has the graphs 0 to " + std::to_string(count - 1)));
}

/// Throws UsageError where the model gives classes to others.
void require_unit(const Reader& reader, const ModelRecord& record, RowUnit unit) {
  const RowUnit own = record.rows.unit();
  if (own == unit) return;
  const std::string predict = "predict " + shell_word(reader.path().string()) + ' ';
  throw UsageError("the model " + name_of(record) + " gives classes to " + std::string(name_of(own)) + "s, not to " +
                   std::string(name_of(unit)) + "s; " +
                   (own == RowUnit::pair ? "run " + operation(predict + option("pairs", "F")) + " or " +
                                               operation(predict + option("links", "F"))
                                         : "give " + option(std::string(name_of(own)) + "s")));
}

}  // namespace

ExportedRows export_embeddings(const Reader& reader, const std::optional<std::vector<NodeId>>& nodes,
                               const std::vector<double>& weights, const NpyTarget& target, MissingRows missing,
                               const std::optional<NpyTarget>& ids) {
  const WatchedBy watched(Internals::resources(reader).meter());
  if (nodes) require_ids(reader, *nodes);
  const PropagationSpec& spec = Internals::store(reader).embedding().spec();
  return export_embeddings(Internals::store(reader), nodes,
                           weights.empty() ? spec.weights : scheme_weights("gpr", spec.levels, weights), target,
                           missing, ids);
}

void export_rows(const Reader& reader, const StoredModel& model, const std::vector<NodeId>& nodes,
                 const NpyTarget& target) {
  const WatchedBy watched(Internals::resources(reader).meter());
  require_propagation(reader, model);
  require_ids(reader, nodes);
  export_rows(Internals::store(reader), Internals::record(model), nodes, target);
}

std::uint64_t count_training_rows(const Reader& reader, const StoredModel& model) {
  require_propagation(reader, model);
  return row_units(Internals::store(reader), Internals::record(model).rows)->labelled(SplitName::train).size();
}

void export_training_rows(const Reader& reader, const StoredModel& model, const NpyTarget& target) {
  const WatchedBy watched(Internals::resources(reader).meter());
  require_propagation(reader, model);
  export_training_rows(Internals::store(reader), Internals::record(model), target);
}

void export_edges(const Reader& reader, const NpyTarget& target, const std::optional<NpyTarget>& weights,
                  const std::string& relation, const std::optional<NpyTarget>& roles) {
  const WatchedBy watched(Internals::resources(reader).meter());
  export_edges(Internals::store(reader), target, weights, relation, roles);
}

std::uint64_t count_edges(const Reader& reader, const std::string& relation) {
  return count_edges(Internals::store(reader), relation);
}

void export_edge_weights(const Reader& reader, const NpyTarget& weights, const std::string& relation) {
  const WatchedBy watched(Internals::resources(reader).meter());
  export_edges(Internals::store(reader), std::nullopt, weights, relation);
}

void export_labels(const Reader& reader, const NpyTarget& target) {
  export_labels(Internals::store(reader), target);
}

void export_names(const Reader& reader, const NpyTarget& target) {
  const WatchedBy watched(Internals::resources(reader).meter());
  export_names(Internals::store(reader), target);
}

std::uint32_t count_graphs(const Reader& reader) {
  return Internals::store(reader).contents().graphs().count();
}

std::vector<NodeId> graphs_with_nodes(const Reader& reader) {
  const WholeGraphs& graphs = Internals::store(reader).contents().graphs();
  std::vector<NodeId> some;
  for (std::uint32_t graph = 0; graph < graphs.count(); ++graph)
    if (graphs.size(graph) > 0) some.push_back(graph);
  return some;
}

std::vector<NodeId> training_graphs(const Reader& reader) {
  const WholeGraphs& graphs = Internals::store(reader).contents().graphs();
  std::vector<NodeId> some = graphs.members(SplitName::train);
  std::erase_if(some, [&](NodeId graph) { return graphs.label(graph) == kNoLabel || graphs.size(graph) == 0; });
  return some;
}

void export_graphs(const Reader& reader, const NpyTarget& target) {
  export_graphs(Internals::store(reader), target);
}

void export_graph_labels(const Reader& reader, const NpyTarget& target) {
  export_graph_labels(Internals::store(reader), target);
}

std::vector<NodeId> training_ids(const Reader& reader) {
  return training_ids(Internals::store(reader));
}

void export_train(const Reader& reader, const NpyTarget& target) {
  if (Internals::store(reader).contents().graphs().has_labels()) {
    const std::vector<NodeId> graphs = training_graphs(reader);
    const std::vector<std::int64_t> numbers(graphs.begin(), graphs.end());
    const std::array<std::uint64_t, 1> shape{numbers.size()};
    NpyWriter writer(target, "<i8", sizeof(std::int64_t), shape);
    writer.append(std::span<const std::int64_t>(numbers));
    return writer.finish();
  }
  export_train(Internals::store(reader), target);
}

namespace {

void require_split(std::string_view split) {
  if (split != "train" && split != "valid" && split != "test")
    throw UsageError("'" + std::string(split) + "' is no split; there are train, valid and test");
}

}  // namespace

bool has_split(const Reader& reader, std::string_view split) {
  require_split(split);
  const Manifest& manifest = Internals::store(reader).manifest();
  const std::optional<FileEntry>& file = split == "train"   ? manifest.train
                                         : split == "valid" ? manifest.valid
                                                            : manifest.test;
  return file.has_value() || !nodes_of_split(reader, split).empty();
}

std::vector<NodeId> nodes_of_split(const Reader& reader, std::string_view split) {
  require_split(split);
  const Contents& contents = Internals::store(reader).contents();
  std::vector<NodeId> nodes = split == "train"   ? contents.train()
                              : split == "valid" ? contents.valid()
                                                 : contents.test();
  for (NodeId& node : nodes) node = contents.order().user(node);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

ExportedStore export_all(const Reader& reader, const std::filesystem::path& folder) {
  const WatchedBy watched(Internals::resources(reader).meter());
  return export_all(Internals::store(reader), resolved(folder));
}

namespace {

/// The arrays of a linear model by the names that others know them by: a row a class, and an
/// intercept a class.
struct ArrayNames {
  const char *weights, *intercepts, *classes;  ///< null: no array of the classes
};

std::vector<NamedArray> named_weights(const ModelRecord& record, const ArrayNames& names) {
  if (record.model.network)
    throw UsageError(
        "the model " + name_of(record) +
        " is a network, which has more than one matrix; name a file .npy for all its parameters in one row");
  const Matrix& weights = record.model.published;
  const std::size_t classes = size_of(weights.cols()), width = row_width(record);
  std::vector<double> rows, intercepts(classes);
  for (Eigen::Index c = 0; c < weights.cols(); ++c) {
    for (std::size_t j = 0; j < width; ++j) rows.push_back(weights(index_of(j), c));
    if (record.options.intercept) intercepts[size_of(c)] = weights(index_of(width), c);
  }
  std::vector<NamedArray> arrays{named_array(names.weights, {classes, width}, rows),
                                 named_array(names.intercepts, {classes}, intercepts)};
  if (names.classes == nullptr) return arrays;
  std::vector<std::int64_t> all(classes);
  std::iota(all.begin(), all.end(), 0);
  arrays.push_back(named_array(names.classes, {classes}, all));
  return arrays;
}

/// The file of the certificate beside the weights takes the place of one of an earlier export, and
/// of no other.
std::filesystem::path lines_beside(const std::filesystem::path& weights, const std::string& certificate) {
  std::filesystem::path lines = resolved_parent(weights).replace_extension(".jsonl");
  if (!has_entry(lines)) return lines;
  std::string begin(certificate.find(':') + 1,
                    '\0');  // up to the name of the first member, which all certificates share
  const File file = File::open_read(lines);
  if (file.size() >= begin.size()) file.read_at(0, std::as_writable_bytes(std::span(begin)));
  if (!certificate.starts_with(begin))
    throw UsageError(lines.string() +
                     ": it is no certificate, and the one of the model would take its place; move it, " +
                     "or give the model another name");
  return lines;
}

}  // namespace

void export_model(const StoredModel& model, const NpyTarget& target) {
  if (target.stream != nullptr) throw UsageError("a model is two files, weights and certificate; name a file");
  const ModelRecord& record = Internals::record(model);
  if (record.certificate.empty())
    throw DataError("no certificate speaks of the model " + name_of(record) + " yet; make one with " +
                    operation("stream STORE " + option("requests", "/dev/null") + ' ' + selecting(name_of(record))));
  const std::filesystem::path lines = lines_beside(target.file, record.certificate);
  if (target.file.extension() == ".npz") {
    write_npz(target.file, named_weights(record, {"coef_", "intercept_", "classes_"}));
  } else if (target.file.extension() == ".safetensors") {
    write_safetensors(target.file, named_weights(record, {"weight", "bias", nullptr}));
  } else {
    const Matrix& weights = record.model.published;
    std::vector<std::uint64_t> shape{size_of(weights.rows())};
    if (!record.model.network) shape.push_back(size_of(weights.cols()));
    NpyWriter writer(target, "<f8", sizeof(double), shape);
    writer.append(std::span<const double>(weights.data(), size_of(weights.size())));
    writer.finish();
  }
  replace_file(lines, record.certificate + "\n" + weights_key_line(record) + "\n");
}

std::vector<Request> draw_requests(const Reader& reader, const DrawOptions& options) {
  if (options.pool) require_ids(reader, *options.pool);
  return draw_requests(Internals::store(reader), options);
}

std::uint64_t embedded_nodes(const Reader& reader) {
  const Embedding& embedding = Internals::store(reader).embedding();
  return embedding.cone().rows(embedding.levels());
}

std::optional<std::string> propagation_mismatch(const Reader& reader, const StoredModel& model) {
  try {
    require_propagation(reader, model);
    return std::nullopt;
  } catch (const DataError& error) {
    return error.message();
  }
}

void require_propagation(const Reader& reader, const StoredModel& model) {
  check_propagation(Internals::record(model), Internals::store(reader).manifest(), reader.path());
}

void score_nodes(const Reader& reader, const StoredModel& model, const std::optional<std::vector<NodeId>>& nodes,
                 const ScoreSink& sink) {
  require_propagation(reader, model);
  require_unit(reader, Internals::record(model), RowUnit::node);
  if (nodes) require_ids(reader, *nodes);
  if (nodes)
    score_some(Internals::store(reader), Internals::record(model), *nodes, sink);
  else
    score_all(Internals::store(reader), Internals::record(model), sink);
}

void score_graphs(const Reader& reader, const StoredModel& model, const std::optional<std::vector<NodeId>>& graphs,
                  const ScoreSink& sink) {
  require_propagation(reader, model);
  require_unit(reader, Internals::record(model), RowUnit::graph);
  if (graphs) require_graphs(reader, *graphs);
  score_graphs(Internals::store(reader), Internals::record(model), graphs ? *graphs : graphs_with_nodes(reader), sink);
}

struct RowFile::Impl {
  std::string file;
  StoredModel model;
  MemoryBudget& budget;
  std::unique_ptr<FeatureReader> reader;
};

namespace {

/// Rows of another norm are those of the embedding, which a model of unit rows has not learnt on.
void require_unit_rows(const std::string& file, std::span<const float> rows, std::size_t width,
                       std::uint64_t first_row) {
  constexpr double kRounding = 1e-4;
  for (std::size_t i = 0; i < rows.size() / width; ++i) {
    double squares = 0;
    for (const float value : rows.subspan(i * width, width))
      squares += static_cast<double>(value) * static_cast<double>(value);
    if (squares != 0 && std::abs(squares - 1) > kRounding)
      throw InputError(file, "row " + std::to_string(first_row + i),
                       "its norm is " + shortest_text(std::sqrt(squares)) +
                           ", and this model has learnt on rows divided by their norm",
                       "give the rows that " + operation("export " + option("rows")) + " writes");
  }
}

}  // namespace

RowFile::RowFile(const std::string& file, const StoredModel& model, Resources& resources)
    : impl_(new Impl{file, model, resources.memory(), open_features({file, {}})}) {
  const std::size_t width = row_width(Internals::record(model));
  if (impl_->reader->columns() != width)
    throw DataError(file + ": rows of " + std::to_string(impl_->reader->columns()) +
                    " numbers; the model takes rows of " + std::to_string(width) + ", as " +
                    operation("export " + option(Internals::record(model).rows.only_levels() ? "embeddings" : "rows")) +
                    " writes them");
}
RowFile::RowFile(RowFile&&) noexcept = default;
RowFile::~RowFile() = default;

std::uint64_t RowFile::rows() const noexcept {
  return impl_->reader->rows();
}

void RowFile::score(const ScoreSink& sink) {
  const ModelRecord& record = Internals::record(impl_->model);
  const std::size_t width = row_width(record), classes = shape_of(record.model).classes;
  const ScoredChunk chunk(record.model, impl_->budget);
  const std::size_t share = std::max<std::size_t>(1, (std::size_t{1} << 20) / width);  // a MiB of numbers at a time
  const std::size_t most = std::min(chunk.rows, share);
  const Reservation memory = impl_->budget.reserve(most * width * (sizeof(double) + sizeof(float)), "rows to predict");
  std::vector<float> rows;
  std::vector<double> margins;
  std::vector<std::int64_t> ids;
  for (FeatureBatch batch; impl_->reader->next(batch, most * width);) {
    rows.assign(batch.rows * width, 0);
    for (std::size_t i = 0; i < batch.rows; ++i)
      for (std::size_t k = batch.sparse ? batch.indptr[i] : i * width,
                       end = batch.sparse ? batch.indptr[i + 1] : k + width;
           k < end; ++k) {
        const auto value = static_cast<float>(batch.values[k]);
        const std::size_t column = batch.sparse ? batch.indices[k] : k - i * width;
        if (!std::isfinite(value))
          throw InputError(impl_->file,
                           "row " + std::to_string(batch.first_row + i) + ", column " + std::to_string(column),
                           "a number that float32 cannot hold", "scale the rows");
        rows[i * width + column] = value;
      }
    if (record.rows.scale == RowScale::unit && !record.rows.lift && record.rows.unit() == RowUnit::node)
      require_unit_rows(impl_->file, rows, width, batch.first_row);
    ids.resize(batch.rows);
    for (std::size_t i = 0; i < batch.rows; ++i) ids[i] = static_cast<std::int64_t>(batch.first_row + i);
    margins.resize(batch.rows * classes);
    score_rows(record, rows, impl_->budget, margins.data());
    sink(ids, margins);
  }
}

}  // namespace v0
}  // namespace unweave

// engine/ingest/store_import.cpp - imports a user's files step by step.
#include "engine/ingest/store_import.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/node_count.h"
#include "engine/graph/node_names.h"
#include "engine/ingest/column_survey.h"
#include "engine/ingest/feature_builder.h"
#include "engine/ingest/graph_import.h"
#include "engine/ingest/graph_order.h"
#include "engine/ingest/import_context.h"
#include "engine/ingest/import_identity.h"
#include "engine/ingest/import_ranks.h"
#include "engine/ingest/label_import.h"
#include "engine/ingest/name_import.h"
#include "engine/ingest/repeated_rows.h"
#include "engine/ingest/standardize.h"
#include "engine/ingest/store_builder.h"
#include "engine/ingest/whole_graph_import.h"
#include "engine/resources/memory_shares.h"
#include "storage/input/features/left_out_column.h"
#include "storage/input/features/replay_features.h"
#include "storage/input/nodes/name_reader.h"
#include "storage/input/request_reader.h"
#include "storage/input/tables/line_order.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/store_folders.h"

namespace unweave {

ImportOptions with_charges(ImportOptions options, MemoryBudget& budget, const TakeRemark& take) {
  const auto chooses = [](const InputFile& file) { return !file.columns.empty(); };
  const InputFile* const features = options.features ? std::get_if<InputFile>(&*options.features) : nullptr;
  bool chosen = features != nullptr && chooses(*features);
  for (const auto* const file : {&options.labels, &options.train, &options.valid, &options.test})
    chosen |= *file && chooses(**file);
  if (chosen) options.orders = std::make_shared<LineOrders>();
  const auto add = [&](InputFile& file) {
    file.remark = take;
    file.charge = [&budget, name = display_name(file).string()](std::uint64_t window) {
      if (window <= kUsualWindow) window = std::min(window, memory_shares::kInputWindow.of(budget));
      return std::make_shared<Reservation>(budget.reserve(
          window,
          name + ": the zstd window, which is smaller when compressed with level 19 or below and without --long"));
    };
  };
  for (RelationEdges& relation : options.relations) {
    add(relation.file);
    relation.file.header_key = "edges";
    relation.file.words_are_data = options.ids.has_value();
    if (relation.weights) add(*relation.weights);
  }
  const std::pair<std::optional<InputFile>&, const char*> files[] = {
      {options.edges, "edges"}, {options.edge_weights, ""}, {options.ids, "ids"},   {options.labels, "labels"},
      {options.train, "train"}, {options.valid, "valid"},   {options.test, "test"}, {options.graphs, "graphs"}};
  for (auto* const file : {&options.graph_labels, &options.graph_train, &options.graph_valid, &options.graph_test})
    if (*file) add(**file);
  for (const auto& [file, key] : files) {
    if (!file) continue;
    add(*file);
    file->header_key = key;
    file->words_are_data = options.ids.has_value() || (&file == &options.labels && !options.class_names.empty());
    const bool is_ids = &file == &options.ids;
    if (&file == &options.edges || &file == &options.edge_weights) continue;
    // Where numbers in files are names, no number is a place.
    if (!is_ids || options.ids_are != IdsAre::names) file->lines_are = is_ids ? LinesAre::names : LinesAre::rows;
    file->orders = options.orders;
  }
  if (!options.features) return options;
  const bool are_rows_of_tables =
      std::holds_alternative<InputFile>(*options.features) || std::holds_alternative<TypedFeatures>(*options.features);
  for (InputFile* const file : feature_files(*options.features)) {
    add(*file);
    if (!are_rows_of_tables) continue;
    file->header_key = "features";
    file->lines_are = LinesAre::rows;
    file->orders = options.orders;
  }
  return options;
}

namespace {

/// The nodes that the requests of a file remove, sorted.
std::vector<NodeId> removed_nodes(const InputFile& file, RequestWords words) {
  std::vector<NodeId> nodes;
  RequestReader reader(file.path, std::move(words));
  for (Request request; reader.next(request);) {
    if (request.kind != RequestKind::remove_node && request.kind != RequestKind::remove_feature) continue;
    if (request.u == kUnknownName)
      throw InputError(display_name(file), "line " + std::to_string(reader.number()),
                       "no node has the name in " + quote_for_message(reader.text()), "correct the name");
    if (request.u >= kMostNodes)
      throw InputError(display_name(file), "line " + std::to_string(reader.number()), "no store has such a node",
                       "correct the id");
    nodes.push_back(static_cast<NodeId>(request.u));
  }
  if (nodes.empty())
    throw InputError(display_name(file), "whole file", "no request removes a node", "write lines such as `node 17`");
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

/// The fewest digits that read back the same.
std::string shortest(double number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

const InputFile& first_file(const FeatureInput& input) {
  return *feature_files(input).front();
}

/// Throws UsageError where ids and rows cannot be those of types.
void require_types(const ImportOptions& options) {
  const std::string name = option("type");
  if (const std::string fault = node_types_fault(options.types); !fault.empty()) throw UsageError(name + ": " + fault);
  const std::uint64_t nodes = first_id(options.types, options.types.size());
  if (options.nodes != nodes)
    throw UsageError(name + " and " + option("nodes") + ": the types have " + std::to_string(nodes) +
                     " nodes together; leave out " + option("nodes"));
  for (const char* const other : {"ids", "replay"})
    if (*other == 'i' ? options.ids.has_value() : options.replay.has_value())
      throw UsageError(name + " and " + option(other) + " exclude each other: ids of types are numbers; leave one out");
  if (options.features)
    for (const InputFile* const file : feature_files(*options.features))
      if (std::holds_alternative<TypedFeatures>(*options.features) && is_pipe(*file))
        throw UsageError(display_name(*file).string() + ": features of a type are read more than once, and a pipe " +
                         "can be read once; name a file");
}

/// The number of nodes, as far as options declare it.
NodeCount count_of(const ImportOptions& options) {
  if (options.types.empty()) return NodeCount(options.nodes);
  return {first_id(options.types, options.types.size()), option("type") + ", all types together,"};
}

/// Nothing, or that edges are read by ids of the store, which may be a slip where there are types.
std::string remark_on_ids(const ImportOptions& options) {
  if (options.types.empty()) return {};
  std::string files = options.edges ? option("edges") : "";
  for (const Relation& relation : options.layers.relations)
    if (!relation.ends) files += (files.empty() ? "relation " : ", relation ") + relation.name;
  if (files.empty()) return {};
  return files + ": ids in these edges are those of the store, 0 to " +
         std::to_string(first_id(options.types, options.types.size()) - 1) + "; " + option("ends") +
         " says where they count from 0 within a type";
}

/// Throws UsageError where copies of nodes cannot be made.
void require_layers(const ImportOptions& options) {
  const std::string directed = option(options.relations.empty() ? "directed" : "relation");
  if (const std::string fault = layers_fault(options.layers, options.types); !fault.empty())
    throw UsageError(directed + ": " + fault);
  if (options.layers.relations.size() != options.relations.size())
    throw UsageError(directed + ": " + std::to_string(options.layers.relations.size()) + " names of relations, and " +
                     std::to_string(options.relations.size()) + " files of their edges");
  if (!options.relations.empty() && options.edges)
    throw UsageError(directed + " and " + option("edges") +
                     ": edges of relations have files of their own; give one of both");
  if (!options.relations.empty() && options.max_weight > 1 && !options.weight_unit)
    throw UsageError(directed + " and " + option("max-weight") +
                     " exclude each other: edges of relations have real weights or none; take whole ones by " +
                     option("weights", "unit=1") + ", or edges without them by " + option("ignore-weights"));
  if (options.replay)
    throw UsageError(directed + " and " + option("replay") +
                     " exclude each other: the test of forgetting that the latter prepares is one of a graph without "
                     "copies of nodes; leave one of them out");
  const auto* const features = options.features ? &first_file(*options.features) : nullptr;
  if (features != nullptr && is_pipe(*features) && options.order != "none")
    throw UsageError(display_name(*features).string() + ": with " + directed + " and " + option("order") +
                     " features are read once for each copy of a node, and a pipe can be read once; name a file");
}

/// Throws UsageError where edges cannot be held out of the graph.
void require_pairs(const ImportOptions& options) {
  if (const std::string fault = pair_rules_fault(*options.pairs); !fault.empty())
    throw UsageError(option("pairs") + ": " + fault);
  if (!options.layers.relations.empty())
    throw UsageError(option("pairs") + " and " + option("relation") +
                     " exclude each other: links are predicted in graphs whose edges are of one kind; leave one of "
                     "them out");
  if (!options.edges) throw UsageError(option("pairs") + " needs " + option("edges") + ", some of which are held out");
  if (options.replay)
    throw UsageError(option("pairs") + " and " + option("replay") +
                     " exclude each other: the test of forgetting that the latter prepares is one of classes of nodes; "
                     "leave one of them out");
  if (options.graphs)
    throw UsageError(option("pairs") + " and " + option("graphs") +
                     " exclude each other: models learn links or whole graphs; leave one of them out");
}

/// Throws UsageError where options of whole graphs do not fit together, or with others.
void require_graphs(const ImportOptions& options) {
  const bool has_split = options.graph_train || options.graph_valid || options.graph_test;
  if (!options.graphs && (options.graph_labels || has_split || options.number_of_graphs))
    throw UsageError(option(options.graph_labels ? "graph-labels"
                            : has_split          ? "graph-split"
                                                 : "number-of-graphs") +
                     " needs " + option("graphs") + ", the graph of each node");
  if (has_split && !options.graph_labels)
    throw UsageError(option("graph-split") + " needs " + option("graph-labels") +
                     ": a split holds graphs whose class is known");
  if (options.graph_labels && options.labels)
    throw UsageError(option("labels") + " and " + option("graph-labels") +
                     " exclude each other: a store has classes of nodes or of graphs");
  if (options.graphs && options.layers.any())
    throw UsageError(option(options.layers.directed ? "directed" : "relation") + " and " + option("graphs") +
                     " exclude each other: whole graphs are of undirected edges of one kind");
  if (options.graphs && options.replay)
    throw UsageError(option("replay") + " and " + option("graphs") +
                     " exclude each other: the test of forgetting that the former prepares is one of classes of nodes");
}

class Import {
 public:
  Import(const std::filesystem::path& store, const ImportOptions& options, MemoryBudget& budget, WorkMeter& meter,
         Ranks& job)
      : options_(with_charges(options, budget, [this](const std::string& sentence) { report_.remark(sentence); })),
        budget_(budget),
        meter_(meter),
        job_(job),
        nodes_(count_of(options)),
        builder_(job.first() ? StoreBuilder(store) : StoreBuilder(store, StoreBuilder::Part())) {
    if (!job_.alone()) require_one_job();
  }

  ImportReport run() { return job_.alone() ? build() : build_with_others(); }

 private:
  /// Whole graphs, with their labels and splits.
  class OfGraphs {
   public:
    OfGraphs(const ImportContext& context, Manifest& manifest)
        : nodes_(context),
          labels_(context,
                  {context.options.graph_labels, context.options.graph_train, context.options.graph_valid,
                   context.options.graph_test, entries(manifest).labels, entries(manifest).train,
                   entries(manifest).valid, entries(manifest).test, true},
                  nodes_.count(), none_, by_number_) {
      labels_.read();
      nodes_.read();
    }
    void write(std::span<const NodeId> positions) {
      nodes_.require_inside(positions);
      nodes_.write(positions);
      labels_.write({});
    }

   private:
    static GraphFiles& entries(Manifest& manifest) {
      if (!manifest.graphs) manifest.graphs.emplace();
      return *manifest.graphs;
    }
    const std::vector<NodeId> none_;
    const ReadId by_number_;
    WholeGraphImport nodes_;
    LabelImport labels_;
  };

  /// Ranks read the same files for the same options, and write into the folder that rank 0 has
  /// made, on storage that they share.
  void require_one_job() {
    require_same(builder_.path(), "options or input files", import_identity(options_), job_);
    const std::optional<EntryStatus> mark = try_status_of(builder_.path() / kUnfinishedName);
    require_same(builder_.path(), "a folder", mark ? std::to_string(mark->modified_ns) : "nothing", job_);
  }

  /// Rank 0 removes what is there when no other rank is at it any more, and leaves it where nobody
  /// can tell.
  ImportReport build_with_others() {
    try {
      return build();
    } catch (const std::exception& error) {
      if (job_.first() && !job_.fail(error)) builder_.leave();
      throw;
    }
  }

  /// What tells the number of nodes comes first, so that errors in the edges name their line.
  ImportReport build() {
    if (const auto& stated = options_.stated_nodes) nodes_.agree(stated->count, stated->file, stated->place);
    if (options_.ids) read_names();
    if (options_.replay)
      replayed_ = removed_nodes(*options_.replay, {read_id_, std::make_shared<const ClassWords>(options_.class_names)});
    std::unique_ptr<FeatureReader> features;
    if (options_.features) {
      features = open_rows();
      nodes_.agree(features->rows(), first_file(*options_.features), "rows");
    }
    if (const std::string remark = remark_on_ids(options_); !remark.empty()) report_.remark(remark);
    const ImportContext context{options_, budget_,  meter_,  job_,
                                nodes_,   builder_, report_, names_ ? &*names_ : nullptr};
    Manifest& manifest = builder_.manifest();
    LabelImport labels(context,
                       {options_.labels, options_.train, options_.valid, options_.test, manifest.labels, manifest.train,
                        manifest.valid, manifest.test},
                       nodes_, replayed_, read_id_);
    if (job_.first()) labels.read();
    std::optional<OfGraphs> of_graphs;
    if (options_.graphs) of_graphs.emplace(context, manifest);
    GraphImport graph(context);
    if (!job_.alone()) share_nodes(graph);
    const ArcCounts counts = graph.build();
    if (of_graphs) of_graphs->write(graph.positions());
    if (job_.first()) labels.write(graph.positions());
    import_features(std::move(features), graph.positions());
    report_.remarks = remarks_of_all(report_.remarks, job_);
    if (!job_.first()) {
      job_.barrier();  // the store is there
      return {};
    }
    manifest.layers = options_.layers;
    manifest.types = options_.types;
    manifest.nodes = nodes_.value() * options_.layers.copies();
    builder_.commit();
    static_cast<BuildReport&>(report_) = build_report(manifest, counts);
    report_.scale = manifest.scale;
    report_.feature_bytes = bytes_of(manifest.feature_files);
    report_.unlabelled_split_ids = labels.unlabelled_split_ids();
    report_.seconds_order = graph.seconds_order();
    if (!options_.layers.any()) count_one_way_edges(counts, manifest.edges + report_.held_edges, report_);
    job_.barrier();
    return std::move(report_);
  }

  /// The number of nodes, which decides whose arcs a rank has, is known on all ranks before they
  /// read the edges.
  void share_nodes(GraphImport& graph) {
    if (job_.first() && !nodes_.known()) graph.count_nodes();
    const std::uint64_t nodes = from_first(nodes_.known().value_or(0), job_);
    if (!job_.first()) nodes_ = NodeCount(nodes);
  }

  void read_names() {
    const ImportedNames imported = import_names(builder_.path(), *options_.ids, options_.ids_are, budget_, meter_);
    Manifest& manifest = builder_.manifest();
    manifest.names = imported.entries;
    manifest.ids_are = options_.ids_are;
    manifest.nodes = imported.nodes;  // those of users: names do not know of copies
    report_.named = imported.named;
    names_.emplace(builder_.path(), manifest);
    nodes_.agree(imported.nodes, *options_.ids, "lines");
    if (options_.orders) {
      ColumnOrder order(false);
      for (NodeId node = 0; node < imported.nodes; ++node) order.add(names_->name_in_files(node));
      options_.orders->set_names(std::move(order));
    }
    read_id_ = [this](std::string_view word) { return names_->read(word); };
  }

  std::unique_ptr<FeatureReader> open_rows() {
    auto rows = open_features(*options_.features, nodes_.known());
    return replayed_.empty() ? std::move(rows) : mark_features(std::move(rows), replayed_);
  }

  /// Rows of a node: its copies share one, as Manifest::shares_features() says.
  [[nodiscard]] std::uint32_t rows_of_node() const { return options_.order == "none" ? 1 : options_.layers.copies(); }
  /// The rows of the files.
  std::unique_ptr<FeatureReader> for_copies(std::unique_ptr<FeatureReader> rows) {
    return repeat_rows(std::move(rows), rows_of_node(), [this] { return open_rows(); });
  }

  void import_features(std::unique_ptr<FeatureReader> reader, std::span<const NodeId> positions) {
    if (!reader) return;
    Manifest& manifest = builder_.manifest();
    manifest.features = static_cast<std::uint32_t>(reader->columns());
    const bool sparse = reader->sparse() && !options_.standardize;
    manifest.feature_layout = {sparse, options_.feature_type, packs_rows(options_.types, sparse, options_.standardize)};
    manifest.standardized = options_.standardize;
    manifest.scale = options_.scale;
    if (!options_.standardize) {
      meter_.start("features", own_sources(nodes_.known(), job_).value_or(NodeRange{0, nodes_.value()}).size(), "rows");
      const std::uint64_t columns = reader->columns();
      Reservation memory = budget_.reserve(ColumnSurvey::bytes(columns), "figures of the columns");
      ColumnSurvey survey(columns, options_.scale.as_given ? 1 : options_.scale.divisor);
      // One of several ranks may not read the first rows.
      std::vector<std::string> remarks;
      const auto* const typed = std::get_if<TypedFeatures>(&*options_.features);
      const bool is_read_once = typed == nullptr && reads_a_pipe(options_);
      if (typed != nullptr) {
        remarks = remarks_on_types(*typed);
        memory.release();
      } else if (!is_read_once) {
        look_at_first_rows(survey, *open_rows());
        remarks = remarks_of(survey, *options_.features, columns);
        survey = ColumnSurvey(0, 1);
        memory.release();
      } else {
        reader = surveyed(std::move(reader), survey);
      }
      reader = for_copies(std::move(reader));
      BuiltFeatures built = build_features(builder_.path(), *reader, manifest.feature_layout, options_.scale, positions,
                                           budget_, meter_, own_spans(nodes_.known(), job_));
      join_features(builder_.path(), built, job_);
      built.norms.above /= rows_of_node();
      if (options_.scale.as_given && job_.first()) require_bounded(built.norms);
      manifest.feature_files = std::move(built.files);
      report_.rows_scaled = built.norms.above;
      report_.largest_norm = built.norms.largest;
      if (is_read_once) remarks = remarks_of(survey, *options_.features, columns);
      if (job_.first()) remark_on_features(remarks);
      if (job_.first()) remark_on_longer_rows(built.norms);
      return;
    }
    const auto standardization = measure_standardization([&] { return open_rows(); }, budget_, meter_);
    reader = for_copies(std::move(reader));
    meter_.start("features", reader->rows(), "rows");
    manifest.feature_files = build_standardized_features(builder_.path(), *reader, standardization,
                                                         options_.feature_type, positions, budget_, meter_);
  }

  [[nodiscard]] static std::vector<std::string> remarks_of(const ColumnSurvey& survey, const FeatureInput& input,
                                                           std::uint64_t columns) {
    if (std::holds_alternative<TuInput>(input)) return {};  // there is no option that leaves one out
    const auto without = [&](std::size_t column) {
      if (const auto* file = std::get_if<InputFile>(&input)) return without_column(*file, column, columns);
      return without_column(std::get<CsrInput>(input).files, column, columns);
    };
    return survey.remarks(display_name(first_file(input)).string(), without);
  }

  static void look_at_first_rows(ColumnSurvey& survey, FeatureReader& reader) {
    constexpr std::size_t kValues = std::size_t{1} << 16;
    for (FeatureBatch batch; !survey.is_done() && reader.next(batch, kValues);) survey.add(batch);
  }

  /// Each type has columns of its own, whose first rows are looked at by themselves.
  [[nodiscard]] std::vector<std::string> remarks_on_types(const TypedFeatures& typed) const {
    std::vector<std::string> remarks;
    for (std::size_t type = 0; type < typed.files.size(); ++type) {
      if (!typed.files[type]) continue;
      const FeatureInput input = *typed.files[type];
      const auto reader = open_features(input, typed.nodes[type]);
      ColumnSurvey survey(reader->columns(), options_.scale.as_given ? 1 : options_.scale.divisor);
      look_at_first_rows(survey, *reader);
      for (std::string& remark : remarks_of(survey, input, reader->columns())) remarks.push_back(std::move(remark));
    }
    return remarks;
  }

  void remark_on_features(const std::vector<std::string>& of_columns) {
    const std::string name = display_name(first_file(*options_.features)).string();
    for (const std::string& remark : of_columns) report_.remark(remark);
    constexpr double kSmall = 1e-3;
    const double largest = report_.largest_norm / (options_.scale.as_given ? 1 : options_.scale.divisor);
    if (largest > 0 && largest < kSmall)
      report_.remark(name + ": no row has a norm above " + shortest(largest) +
                     ", and rows below 1 stay as they are, so that features hardly count; divide all by a public "
                     "number of this size, such as " +
                     option("scale", shortest(power_above(report_.largest_norm))));
  }

  /// The power of two that is not below: it tells of no row what its norm would.
  static double power_above(double norm) { return std::exp2(std::ceil(std::log2(norm))); }

  /// Under --scale none.
  /// Rows above a number that somebody has chosen keep their direction alone, as with the default,
  /// which says so of all.
  void remark_on_longer_rows(const RowNorms& norms) {
    if (options_.scale.as_given || options_.scale == FeatureScale() || norms.above == 0) return;
    report_.remark(
        display_name(first_file(*options_.features)).string() + ": " + std::to_string(norms.above) + " of " +
        std::to_string(nodes_.value()) + " rows are longer than " + option("scale", shortest(options_.scale.divisor)) +
        " and were divided by their norm, so that they keep their direction alone; where lengths matter, "
        "divide all rows by a public number that none exceeds, which is not to be one of their norms, such as " +
        option("scale", shortest(power_above(norms.largest))));
  }

  void require_bounded(const RowNorms& norms) const {
    if (norms.above == 0) return;
    throw InputError(
        display_name(first_file(*options_.features)), "row " + std::to_string(norms.first_above),
        "norm " + shortest(norms.norm_of_first_above) + " is above 1, as of " + std::to_string(norms.above) +
            (norms.above == 1 ? " row" : " rows") + "; " + option("scale", "none") + " takes none",
        "divide all rows by a public number that none exceeds, which is not to be one of their norms, such as " +
            option("scale", shortest(power_above(norms.largest))) + ", or each of these by its own, " +
            option("scale", "rows"));
  }

  const ImportOptions options_;
  MemoryBudget& budget_;
  WorkMeter& meter_;
  Ranks& job_;
  NodeCount nodes_;
  StoreBuilder builder_;
  std::optional<NodeNames> names_;
  ReadId read_id_;                ///< empty where ids are numbers
  std::vector<NodeId> replayed_;  ///< sorted ids
  ImportReport report_;
};

}  // namespace

namespace {

/// What real weights of edges need, and what they do not go with.
void require_weight_unit(const ImportOptions& options) {
  const std::string weights = option("weights", "unit=" + unit_text(options.weight_unit->exponent));
  const auto refuse = [&](const std::string& other, const std::string& why) {
    throw UsageError(weights + " and " + other + " exclude each other: " + why);
  };
  if (!options.edges && options.relations.empty()) throw UsageError(weights + " needs " + option("edges"));
  if (options.ignore_weights) refuse(option("ignore-weights"), "either weights count or they do not");
  if (options.weight_unit->self < 1 || options.weight_unit->self > kMostSelfWeight)
    throw UsageError(option("self-weight", std::to_string(options.weight_unit->self)) + ": a self loop weighs 1 to " +
                     std::to_string(kMostSelfWeight) + " units");
  const std::uint64_t most = most_degree(kDefaultScaleBits);
  if (options.weight_unit->self > most)
    throw UsageError(weights + ": a self loop of " + std::to_string(options.weight_unit->self) +
                     " units is more than the " + std::to_string(most) + " that sums of " +
                     std::to_string(kDefaultScaleBits) + " bits hold; take a larger unit, or give a smaller " +
                     option("self-weight"));
}

}  // namespace

ImportReport import_store(const std::filesystem::path& store, const ImportOptions& options, MemoryBudget& budget,
                          WorkMeter& meter, Ranks& job) {
  if (!options.edges && options.relations.empty() && !options.features && !options.labels && !options.nodes &&
      !options.ids && !options.graphs)
    throw UsageError("nothing to import: give " + option("edges") + ", " + option("features") + ", " +
                     option("labels") + " or " + option("nodes"));
  if ((options.train || options.valid || options.test) && !options.labels)
    throw UsageError(option("split") + " needs " + option("labels") + ": a split holds nodes whose class is known" +
                     (options.graph_labels ? "; that of graphs is " + option("graph-split") : ""));
  if (options.replay && !(options.features && options.labels))
    throw UsageError(option("replay") + " needs " + option("features") + " and " + option("labels") +
                     ", to which it adds");
  if (options.ids_are && !options.ids) throw UsageError(option("ids-are") + " needs " + option("ids"));
  if (options.edge_weights && !options.edges) throw UsageError(option("edge-weights") + " needs " + option("edges"));
  if (options.max_weight < 1 || options.max_weight > kMostWeight)
    throw UsageError(option("max-weight", std::to_string(options.max_weight)) +
                     ": weights are whole numbers from 1 to " + std::to_string(kMostWeight) + " at most");
  if (options.ignore_weights && options.max_weight > 1)
    throw UsageError(option("ignore-weights") + " and " + option("max-weight") + " exclude each other");
  if (options.weight_unit) require_weight_unit(options);
  if (!options.types.empty()) require_types(options);
  if (options.layers.any()) require_layers(options);
  if (options.pairs) require_pairs(options);
  require_graphs(options);
  if (!is_order(options.order))
    throw UsageError(option("order", options.order) + ": name one of none, " + order_names());
  if (options.standardize && !options.features)
    throw UsageError(option("standardize") + " needs " + option("features"));
  if (options.scale != FeatureScale() && !options.features)
    throw UsageError(option("scale") + " needs " + option("features"));
  if (options.feature_type != FeatureType::f32 && !options.features)
    throw UsageError(option("feature-type") + " needs " + option("features"));
  if (!job.alone()) require_shared_import(options);
  return Import(store, options, budget, meter, job).run();
}

}  // namespace unweave

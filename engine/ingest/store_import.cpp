// engine/ingest/store_import.cpp - imports a user's files step by step, and goes on with what is kept of an import that
// was ended.
#include "engine/ingest/store_import.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <string>
#include <system_error>
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
#include "engine/ingest/import_keeper.h"
#include "engine/ingest/import_ranks.h"
#include "engine/ingest/label_import.h"
#include "engine/ingest/name_import.h"
#include "engine/ingest/standardize.h"
#include "engine/ingest/store_builder.h"
#include "engine/resources/memory_shares.h"
#include "storage/input/name_reader.h"
#include "storage/input/replay_features.h"
#include "storage/input/request_reader.h"
#include "storage/input/tables/line_order.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
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
  const std::pair<std::optional<InputFile>&, const char*> files[] = {
      {options.edges, "edges"}, {options.edge_weights, ""}, {options.ids, "ids"},  {options.labels, "labels"},
      {options.train, "train"}, {options.valid, "valid"},   {options.test, "test"}};
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
  if (auto* const csr = std::get_if<CsrInput>(&*options.features)) {
    for (InputFile* const file : {&csr->files.indptr, &csr->files.indices}) add(*file);
    if (csr->files.values) add(*csr->files.values);
  } else {
    add(std::get<InputFile>(*options.features));
    std::get<InputFile>(*options.features).header_key = "features";
    std::get<InputFile>(*options.features).lines_are = LinesAre::rows;
    std::get<InputFile>(*options.features).orders = options.orders;
  }
  return options;
}

namespace {

std::unique_ptr<FeatureReader> open_matrix(const std::variant<InputFile, CsrInput>& input,
                                           std::optional<std::uint64_t> nodes) {
  if (const auto* file = std::get_if<InputFile>(&input)) return open_features(*file, nodes);
  const auto& csr = std::get<CsrInput>(input);
  return open_csr_features(csr.files, csr.columns);
}

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

const InputFile& first_file(const std::variant<InputFile, CsrInput>& input) {
  const auto* file = std::get_if<InputFile>(&input);
  return file != nullptr ? *file : std::get<CsrInput>(input).files.indptr;
}

class Import {
 public:
  Import(const std::filesystem::path& store, const ImportOptions& options, MemoryBudget& budget, WorkMeter& meter,
         Ranks& job)
      : options_(with_charges(options, budget, [this](const std::string& sentence) { report_.remark(sentence); })),
        budget_(budget),
        meter_(meter),
        job_(job),
        nodes_(options.nodes),
        identity_(import_identity(options_)),
        builder_(job.first() ? StoreBuilder(store, !options.restart) : StoreBuilder(store, StoreBuilder::Part())) {
    try {
      begin_keeping();
    } catch (...) {  // nobody has judged what is kept
      if (try_status_of(builder_.path() / kImportFolder)) builder_.leave();
      throw;
    }
    if (!job_.alone()) require_one_job();
  }

  ImportReport run() {
    try {
      return job_.alone() ? build() : build_with_others();
    } catch (const ResourceError& error) {
      if (!leave()) throw;
      throw ResourceError(error.message() + "; what is finished is kept, and a new call with these options goes on");
    } catch (const Cancelled&) {
      static_cast<void>(leave());
      throw;
    } catch (const std::bad_alloc&) {
      static_cast<void>(leave());
      throw;
    } catch (const std::system_error&) {
      static_cast<void>(leave());
      throw;
    }
  }

 private:
  /// Ranks read the same files for the same options, and write into the folder that rank 0 has made, on storage that
  /// they share.
  void require_one_job() {
    require_same(builder_.path(), "options or input files", identity_ ? identity_text(*identity_) : "nothing", job_);
    const std::optional<EntryStatus> mark = try_status_of(builder_.path() / kUnfinishedName);
    require_same(builder_.path(), "a folder", mark ? std::to_string(mark->modified_ns) : "nothing", job_);
  }

  /// Rank 0 removes what is there when no other rank is at it any more, and leaves it where nobody can tell.
  ImportReport build_with_others() {
    try {
      return build();
    } catch (const std::exception& error) {
      if (job_.first() && !job_.fail(error)) builder_.leave();
      throw;
    }
  }

  /// Whether somebody can go on with what is there.
  bool leave() {
    keeper_->join();
    if (!keeper_->is_written()) return false;
    builder_.leave();
    return true;
  }

  /// Takes up what an import that was ended has kept.
  void begin_keeping() {
    const std::string by_ids = options_.order == "none" ? "" : GraphImport::kByIds;
    ImportRecord record;
    if (identity_) record.options = *identity_;
    if (std::optional<ImportRecord> kept = job_.first() ? read_kept() : std::nullopt) {
      if (!job_.alone())
        throw UsageError(builder_.path().string() +
                         ": an import of one process is not finished here, and only one process goes on with it; "
                         "several ranks begin anew with " +
                         option("restart"));
      if (!identity_) require_inputs();
      const std::string difference =
          identity_ ? identity_difference(kept->options, *identity_) : "an input cannot be read again";
      if (!difference.empty()) {
        builder_.leave();
        throw UsageError(builder_.path().string() + ": an import with other options or files is not finished here (" +
                         difference + "); go on with those, or drop what is kept with " + option("restart"));
      }
      record = checked_record(builder_.path(), by_ids, *std::move(kept), [this](const std::string& file) {
        report_.remark(file + ": damaged since an import that was ended kept it; it is made again");
        if (!is_file(file)) drop_tree(file);
      });
      report_.resumed = KeptWork();
    }
    const bool resumed = report_.resumed.has_value();
    keeper_.emplace(builder_.path(), identity_.has_value() && job_.alone(), options_.keep_seconds, by_ids,
                    std::move(record), resumed);
    std::set<std::string> named;
    if (resumed) {
      named.insert((std::filesystem::path(kImportFolder) / "record.json").generic_string());
      for (const FileEntry& entry : keeper_->files(keeper_->record())) named.insert(entry.path);
      for (const std::string file : {"given.arcs", "ordered.arcs", "rows"})
        named.insert((std::filesystem::path(kImportFolder) / file).generic_string());
      clear_building(builder_.path(), named);
    }
  }

  /// Where an import is to be gone on with, says of an input file that cannot be opened what is wrong with it.
  void require_inputs() const {
    for (const InputFile* const file : files_of(options_)) {
      std::error_code unknown;
      if (file->memory || file->path == "-") continue;
      if (!std::filesystem::exists(file->path, unknown) || std::filesystem::is_directory(file->path, unknown))
        static_cast<void>(ByteSource(*file));
    }
  }

  /// The record of an import that was ended. What one leaves without a record, or with a damaged one, is removed.
  std::optional<ImportRecord> read_kept() {
    std::optional<ImportRecord> kept;
    try {
      kept = read_import_record(builder_.path());
    } catch (const FormatError& error) {
      report_.remark(builder_.path().string() + ": the record of an import that was ended is damaged (" + error.fault +
                     "); this one begins anew");
    } catch (const DataError&) {
      const std::filesystem::path record = builder_.path() / kImportFolder / "record.json";
      if (is_file(record)) throw;
      report_.remark(record.string() + ": is not a file; this import begins anew");
      drop_tree(record);
    }
    if (!kept) clear_building(builder_.path());
    return kept;
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
    const ImportContext context{
        options_, budget_, meter_, job_, nodes_, builder_, *keeper_, report_, names_ ? &*names_ : nullptr};
    LabelImport labels(context, replayed_, read_id_);
    if (job_.first()) labels.read();
    GraphImport graph(context);
    if (!job_.alone()) share_nodes(graph);
    const ArcCounts counts = graph.build();
    if (job_.first()) labels.write(graph.positions());
    import_features(std::move(features), graph.positions());
    report_.remarks = remarks_of_all(report_.remarks, job_);
    if (!job_.first()) {
      job_.barrier();  // the store is there
      return {};
    }
    Manifest& manifest = builder_.manifest();
    manifest.nodes = nodes_.value();
    keeper_->wait();
    builder_.commit();
    drop_tree(builder_.path() / GraphImport::kByIds);  // where the record named it to the end
    static_cast<BuildReport&>(report_) = build_report(manifest, counts);
    report_.scale = manifest.scale;
    report_.feature_bytes = bytes_of(manifest.feature_files);
    report_.unlabelled_split_ids = labels.unlabelled_split_ids();
    report_.seconds_order = graph.seconds_order();
    count_one_way_edges(counts, manifest.edges, report_);
    if (const std::string& trouble = keeper_->trouble(); !trouble.empty()) report_.remark(trouble);
    job_.barrier();
    return std::move(report_);
  }

  /// The number of nodes, which decides whose arcs a rank has, is known on all ranks before they read the edges.
  void share_nodes(GraphImport& graph) {
    if (job_.first() && !nodes_.known()) graph.count_nodes();
    const std::uint64_t nodes = from_first(nodes_.known().value_or(0), job_);
    if (!job_.first()) nodes_ = NodeCount(nodes);
  }

  void read_names() {
    if (!keeper_->record().names) {
      ImportedNames fresh = import_names(builder_.path(), *options_.ids, options_.ids_are, budget_, meter_);
      names_kept_ = {std::move(fresh.entries), fresh.nodes, fresh.named};
      keeper_->settle([this](ImportRecord& record) { record.names = names_kept_; });
    } else {
      names_kept_ = *keeper_->record().names;
    }
    const KeptNames& imported = names_kept_;
    Manifest& manifest = builder_.manifest();
    manifest.names = imported.entries;
    manifest.ids_are = options_.ids_are;
    manifest.nodes = imported.nodes;
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
    auto rows = open_matrix(*options_.features, nodes_.known());
    return replayed_.empty() ? std::move(rows) : mark_features(std::move(rows), replayed_);
  }

  void import_features(std::unique_ptr<FeatureReader> reader, std::span<const NodeId> positions) {
    if (!reader) return;
    Manifest& manifest = builder_.manifest();
    manifest.features = static_cast<std::uint32_t>(reader->columns());
    manifest.feature_layout = {reader->sparse() && !options_.standardize, options_.feature_type};
    manifest.standardized = options_.standardize;
    manifest.scale = options_.scale;
    FeatureKeeper keeper(*keeper_);
    if (report_.resumed) report_.resumed->feature_files = keeper.files().size();
    if (!options_.standardize) {
      meter_.start("features", own_sources(nodes_, job_).value_or(NodeRange{0, nodes_.value()}).size(), "rows");
      const std::uint64_t columns = reader->columns();
      Reservation memory = budget_.reserve(ColumnSurvey::bytes(columns), "figures of the columns");
      ColumnSurvey survey(columns, options_.scale.as_given ? 1 : options_.scale.divisor);
      // What goes on, or is one of several, does not read the first rows.
      std::vector<std::string> remarks;
      if (identity_) {
        look_at_first_rows(survey);
        remarks = survey.remarks(display_name(first_file(*options_.features)).string());
        survey = ColumnSurvey(0, 1);
        memory.release();
      } else {
        reader = surveyed(std::move(reader), survey);
      }
      BuiltFeatures built = build_features(builder_.path(), *reader, options_.feature_type, options_.scale, positions,
                                           budget_, meter_, job_.alone() ? &keeper : nullptr, own_spans(nodes_, job_));
      join_features(builder_.path(), built, job_);
      if (options_.scale.as_given && job_.first()) require_bounded(built.norms);
      manifest.feature_files = std::move(built.files);
      report_.rows_scaled = built.norms.above;
      report_.largest_norm = built.norms.largest;
      if (!identity_) remarks = survey.remarks(display_name(first_file(*options_.features)).string());
      if (job_.first()) remark_on_features(remarks);
      if (job_.first()) remark_on_longer_rows(built.norms);
      return;
    }
    StatisticsKeeper statistics(*keeper_);
    const auto standardization = measure_standardization([&] { return open_rows(); }, budget_, meter_, &statistics);
    meter_.start("features", reader->rows(), "rows");
    manifest.feature_files = build_standardized_features(builder_.path(), *reader, standardization,
                                                         options_.feature_type, positions, budget_, meter_, &keeper);
  }

  void look_at_first_rows(ColumnSurvey& survey) {
    constexpr std::size_t kValues = std::size_t{1} << 16;
    const auto reader = open_rows();
    for (FeatureBatch batch; !survey.is_done() && reader->next(batch, kValues);) survey.add(batch);
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
  /// Rows above a number that somebody has chosen keep their direction alone, as with the default, which says so of all.
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
  std::optional<ImportIdentity> identity_;  ///< nothing where a file cannot be read again
  StoreBuilder builder_;
  std::optional<ImportKeeper> keeper_;  ///< after builder_, in whose folder it works on a thread of its own
  KeptNames names_kept_;
  std::optional<NodeNames> names_;
  ReadId read_id_;                ///< empty where ids are numbers
  std::vector<NodeId> replayed_;  ///< sorted ids
  ImportReport report_;
};

}  // namespace

ImportReport import_store(const std::filesystem::path& store, const ImportOptions& options, MemoryBudget& budget,
                          WorkMeter& meter, Ranks& job) {
  if (!options.edges && !options.features && !options.labels && !options.nodes && !options.ids)
    throw UsageError("nothing to import: give " + option("edges") + ", " + option("features") + ", " +
                     option("labels") + " or " + option("nodes"));
  if ((options.train || options.valid || options.test) && !options.labels)
    throw UsageError(option("split") + " needs " + option("labels") + ": a split holds nodes whose class is known");
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

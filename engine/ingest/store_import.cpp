// engine/ingest/store_import.cpp - imports a user's files step by step: edges, order, features, labels, splits.
#include "engine/ingest/store_import.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/graph/node_count.h"
#include "engine/graph/node_names.h"
#include "engine/graph/span_share.h"
#include "engine/ingest/arc_sort.h"
#include "engine/ingest/feature_builder.h"
#include "engine/ingest/graph_order.h"
#include "engine/ingest/import_identity.h"
#include "engine/ingest/import_ranks.h"
#include "engine/ingest/name_import.h"
#include "engine/ingest/name_table.h"
#include "engine/ingest/shard_builder.h"
#include "engine/ingest/standardize.h"
#include "engine/ingest/store_builder.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/pipeline.h"
#include "storage/formats/node_file.h"
#include "storage/formats/order_file.h"
#include "storage/input/edge_reader.h"
#include "storage/input/name_reader.h"
#include "storage/input/replay_features.h"
#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/store_folders.h"

namespace unweave {
namespace {

constexpr std::size_t kReadEdges = std::size_t{1} << 16;
/// The graph's files before it is ordered, in the store.
constexpr const char* kByIds = "graph/by-ids";

/// Its files give their remarks to `take`, and charge their zstd windows. Those of usual levels go on working under small budgets: they are charged as far
/// as there is room.
ImportOptions with_charges(ImportOptions options, MemoryBudget& budget, const TakeRemark& take) {
  const auto add = [&](InputFile& file) {
    file.remark = take;
    file.charge = [&budget, name = display_name(file).string()](std::uint64_t window) {
      if (window <= kUsualWindow) window = std::min(window, memory_shares::kInputWindow.of(budget));
      return std::make_shared<Reservation>(budget.reserve(
          window,
          name + ": the zstd window, which is smaller when compressed with level 19 or below and without --long"));
    };
  };
  for (auto* const file : {&options.edges, &options.edge_weights, &options.ids, &options.labels, &options.train,
                           &options.valid, &options.test})
    if (*file) add(**file);
  if (!options.features) return options;
  if (auto* const csr = std::get_if<CsrInput>(&*options.features)) {
    for (InputFile* const file : {&csr->files.indptr, &csr->files.indices}) add(*file);
    if (csr->files.values) add(*csr->files.values);
  } else {
    add(std::get<InputFile>(*options.features));
  }
  return options;
}

std::unique_ptr<FeatureReader> open_matrix(const std::variant<InputFile, CsrInput>& input,
                                           std::optional<std::uint64_t> nodes) {
  if (const auto* file = std::get_if<InputFile>(&input)) return open_features(*file, nodes);
  const auto& csr = std::get<CsrInput>(input);
  return open_csr_features(csr.files, csr.columns);
}

/// The nodes that the requests of a file remove, sorted.
std::vector<NodeId> removed_nodes(const InputFile& file, const ReadId& read_id) {
  std::vector<NodeId> nodes;
  RequestReader reader(file.path, read_id);
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
      : options_(with_charges(options, budget, [this](const std::string& sentence) { remark(sentence); })),
        budget_(budget),
        meter_(meter),
        job_(job),
        nodes_(options.nodes),
        identity_(job.alone() ? import_identity(options_) : std::nullopt),
        builder_(job.first() ? StoreBuilder(store, !options.restart) : StoreBuilder(store, StoreBuilder::Part())) {
    try {
      begin_keeping();
    } catch (...) {  // nobody has judged what is kept
      std::error_code ignored;
      if (std::filesystem::exists(builder_.path() / kImportFolder, ignored)) builder_.leave();
      throw;
    }
    if (!job_.alone()) require_one_folder();
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
  /// Ranks write into the folder that rank 0 has made, on storage that they share.
  void require_one_folder() {
    job_.barrier();  // it is there
    std::error_code missing;
    const auto made = std::filesystem::last_write_time(builder_.path() / kUnfinishedName, missing);
    require_same(builder_.path(), missing ? "nothing" : std::to_string(made.time_since_epoch().count()), job_);
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
    const std::string by_ids = options_.order == "none" ? "" : kByIds;
    ImportRecord record;
    if (identity_) record.options = *identity_;
    if (std::optional<ImportRecord> kept = job_.first() ? read_kept() : std::nullopt) {
      if (!job_.alone())
        throw UsageError(builder_.path().string() +
                         ": an import of one process is not finished here, and only one process goes on with it; "
                         "several ranks begin anew with " +
                         option("restart"));
      const std::string difference =
          identity_ ? identity_difference(kept->options, *identity_) : "an input cannot be read again";
      if (!difference.empty()) {
        builder_.leave();
        throw UsageError(builder_.path().string() + ": an import with other options or files is not finished here (" +
                         difference + "); go on with those, or drop what is kept with " + option("restart"));
      }
      record = checked_record(builder_.path(), by_ids, *std::move(kept), [this](const std::string& file) {
        remark(file + ": damaged since an import that was ended kept it; it is made again");
      });
      report_.resumed = KeptWork();
    }
    const bool resumed = report_.resumed.has_value();
    keeper_.emplace(builder_.path(), identity_.has_value(), options_.keep_seconds, by_ids, std::move(record), resumed);
    std::set<std::string> named;
    if (resumed) {
      named.insert((std::filesystem::path(kImportFolder) / "record.json").generic_string());
      for (const FileEntry& entry : keeper_->files(keeper_->record())) named.insert(entry.path);
      for (const std::string file : {"given.arcs", "ordered.arcs", "rows"})
        named.insert((std::filesystem::path(kImportFolder) / file).generic_string());
      clear_building(builder_.path(), named);
    }
  }

  /// The record of an import that was ended. What one leaves without a record, or with a damaged one, is removed.
  std::optional<ImportRecord> read_kept() {
    std::optional<ImportRecord> kept;
    try {
      kept = read_import_record(builder_.path());
    } catch (const FormatError& error) {
      remark(builder_.path().string() + ": the record of an import that was ended is damaged (" + error.fault +
             "); this one begins anew");
    }
    if (!kept) clear_building(builder_.path());
    return kept;
  }

  /// What tells the number of nodes comes first, so that errors in the edges name their line.
  ImportReport build() {
    if (const auto& stated = options_.stated_nodes) nodes_.agree(stated->count, stated->file, stated->place);
    if (options_.ids) read_names();
    if (options_.replay) replayed_ = removed_nodes(*options_.replay, read_id_);
    std::unique_ptr<FeatureReader> features;
    if (options_.features) {
      features = open_rows();
      nodes_.agree(features->rows(), first_file(*options_.features), "rows");
    }
    if (job_.first()) read_labels();
    if (!job_.alone()) share_nodes();
    const ArcCounts counts = import_edges();
    remark_on_header(counts);
    if (job_.first()) write_labels_and_splits();
    import_features(std::move(features));
    report_.remarks = remarks_of_all(report_.remarks, job_);
    if (!job_.first()) {
      job_.barrier();  // the store is there
      return {};
    }
    Manifest& manifest = builder_.manifest();
    manifest.nodes = nodes_.value();
    keeper_->wait();
    builder_.commit();
    std::error_code ignored;
    std::filesystem::remove_all(builder_.path() / kByIds, ignored);  // where the record named it to the end
    static_cast<BuildReport&>(report_) = build_report(manifest, counts);
    report_.scale = manifest.scale;
    report_.feature_bytes = bytes_of(manifest.feature_files);
    report_.unlabelled_split_ids = unlabelled_split_ids_;
    report_.seconds_order = seconds_order_;
    count_one_way_edges(counts, manifest.edges, report_);
    if (const std::string& trouble = keeper_->trouble(); !trouble.empty()) remark(trouble);
    job_.barrier();
    return std::move(report_);
  }

  struct Split {
    const char* name;
    const std::optional<InputFile>& file;
    std::optional<FileEntry>& entry;
    std::vector<NodeId> ids;
  };

  /// The number of nodes, which decides whose arcs a rank has, is known on all ranks before they read the edges.
  void share_nodes() {
    if (job_.first() && !nodes_.known()) count_nodes();
    const std::uint64_t nodes = from_first(nodes_.known().value_or(0), job_);
    if (!job_.first()) nodes_ = NodeCount(nodes);
  }

  /// Reads the edges for their largest id alone, where the file does not declare a number of nodes.
  void count_nodes() {
    const std::unique_ptr<EdgeReader> reader = open_edges(*options_.edges, edge_options());
    if (const auto declared = reader->declared_nodes())
      return nodes_.agree(*declared, *options_.edges, "declared size");
    GraphKeeper keeper(*keeper_, &ImportRecord::given, "given");
    const Reservation memory = budget_.reserve(ArcSorter::kMinBudget, "reading of edges");
    ArcSorter counter(builder_.path(), static_cast<std::size_t>(memory.bytes()), std::nullopt, options_.max_weight, {},
                      NodeRange());
    collect_numbers(reader, counter, keeper, {});
    settle_nodes(counter.counts());
  }

  void read_names() {
    if (!keeper_->record().names) {
      ImportedNames fresh = import_names(builder_.path(), *options_.ids, budget_, meter_);
      names_kept_ = {std::move(fresh.entries), fresh.nodes, fresh.named};
      keeper_->settle([this](ImportRecord& record) { record.names = names_kept_; });
    } else {
      names_kept_ = *keeper_->record().names;
    }
    const KeptNames& imported = names_kept_;
    Manifest& manifest = builder_.manifest();
    manifest.names = imported.entries;
    manifest.nodes = imported.nodes;
    report_.named = imported.named;
    names_.emplace(builder_.path(), manifest);
    const std::string first = names_->text(0);
    nodes_.agree(imported.nodes, *options_.ids,
                 is_header_of_names(first) ? "lines, the first of which is " + quote_for_message(first) : "lines");
    read_id_ = [this](std::string_view word) { return names_->number(word); };
  }

  /// Any word may be a name, so that the first line of names is never skipped.
  void remark_on_header(const ArcCounts& counts) {
    if (!names_ || counts.smallest_node == NodeId{0}) return;
    const std::string word = names_->text(0);
    if (is_header_of_names(word))
      remark(display_name(*options_.ids).string() + ": the first line, " + quote_for_message(word) +
             ", is the name of node 0, of which no edge speaks; take the line out if it names a column");
  }

  void read_labels() {
    Manifest& manifest = builder_.manifest();
    if (options_.classes) {
      if (*options_.classes < 1 || *options_.classes > std::uint64_t{std::numeric_limits<std::int32_t>::max()})
        throw UsageError(option("classes", std::to_string(*options_.classes)) + ": there are 1 to 2147483647 classes");
      manifest.classes = static_cast<std::uint32_t>(*options_.classes);
    }
    if (!options_.labels) return;
    labels_ = read_all_labels();
    nodes_.agree(labels_.size(), *options_.labels, "rows");
    memory_of_labels_ = budget_.reserve(labels_.size() * sizeof(std::int32_t), "labels");
    if (!options_.classes)
      manifest.classes = static_cast<std::uint32_t>(*std::max_element(labels_.begin(), labels_.end()) + 1);
    remark_on_classes();
    add_replay_class();
    read_splits();
  }

  /// What nobody declared may be a slip: classes that count from 1, or one label far from the others.
  void remark_on_classes() {
    const std::uint32_t classes = builder_.manifest().classes;
    count_empty_classes(labels_, classes, budget_, report_);
    if (options_.classes) return;
    const std::string name = display_name(*options_.labels).string();
    if (classes > 1 && !report_.first_empty_classes.empty() && report_.first_empty_classes[0] == 0)
      remark(name + ": no node has class 0; labels that count from 1 should have 1 subtracted");
    if (classes > kManyClasses)
      remark(name + ": the largest label, " + std::to_string(classes - 1) + ", makes " + std::to_string(classes) +
             " classes; " + option("classes", "C") + " declares them, if they are meant");
  }

  /// Once: a file may be opened twice. Readers are never two at a time.
  void remark(const std::string& sentence) {
    if (std::find(report_.remarks.begin(), report_.remarks.end(), sentence) == report_.remarks.end())
      report_.remarks.push_back(sentence);
  }

  void add_replay_class() {
    if (replayed_.empty()) return;
    if (replayed_.back() >= labels_.size())
      throw InputError(display_name(*options_.replay), "node " + std::to_string(replayed_.back()),
                       "there are " + std::to_string(labels_.size()) + " nodes", "correct the id");
    const std::uint32_t own = builder_.manifest().classes++;
    for (const NodeId node : replayed_) labels_[node] = static_cast<std::int32_t>(own);
  }

  std::unique_ptr<FeatureReader> open_rows() {
    auto rows = open_matrix(*options_.features, nodes_.known());
    return replayed_.empty() ? std::move(rows) : mark_features(std::move(rows), replayed_);
  }

  std::vector<std::int32_t> read_all_labels() {
    const auto reader = open_labels(*options_.labels, options_.classes, options_.empty_label);
    if (const auto count = reader->count()) nodes_.agree(*count, *options_.labels, "rows");
    meter_.start("labels", nodes_.known().value_or(0), "labels");
    std::vector<std::int32_t> labels;
    std::vector<std::int32_t> chunk(kReadEdges);
    while (const std::size_t count = reader->read(chunk)) {
      labels.insert(labels.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(count));
      meter_.advance(count);
    }
    return labels;
  }

  void read_splits() {
    for (Split& split : splits_) {
      if (!split.file) continue;
      split.ids = read_node_ids(*split.file, labels_.size(), read_id_);
      std::sort(split.ids.begin(), split.ids.end());
      split.ids.erase(std::unique(split.ids.begin(), split.ids.end()), split.ids.end());
      for (const Split* other = splits_; other != &split; ++other) require_disjoint(*other, split);
    }
    for (Split& split : splits_)
      unlabelled_split_ids_ += std::erase_if(split.ids, [&](NodeId node) { return labels_[node] == kNoLabel; });
    for (std::size_t i = 0; i < report_.splits.size(); ++i)
      if (splits_[i].file) report_.splits[i] = splits_[i].ids.size();
  }

  void write_labels_and_splits() {
    if (!options_.labels) return;
    if (!positions_.empty()) {
      const Reservation memory = budget_.reserve(labels_.size() * sizeof(std::int32_t), "labels by position");
      std::vector<std::int32_t> moved(labels_.size());
      for (std::size_t node = 0; node < labels_.size(); ++node) moved[positions_[node]] = labels_[node];
      labels_ = std::move(moved);
      for (Split& split : splits_) {
        for (NodeId& node : split.ids) node = positions_[node];
        std::sort(split.ids.begin(), split.ids.end());
      }
    }
    builder_.manifest().labels = write_labels(builder_.path(), labels_);
    for (const Split& split : splits_)
      if (split.file) split.entry = write_ids(builder_.path(), split.name, split.ids);
    std::vector<std::int32_t>().swap(labels_);
    memory_of_labels_.release();
  }

  void require_disjoint(const Split& earlier, const Split& later) const {
    std::vector<NodeId> common;
    std::set_intersection(earlier.ids.begin(), earlier.ids.end(), later.ids.begin(), later.ids.end(),
                          std::back_inserter(common));
    if (common.empty()) return;
    throw InputError(later.file->path,
                     "node " + (names_ ? names_->text(common.front()) : std::to_string(common.front())),
                     "is in the split " + std::string(earlier.name) + " too (" + earlier.file->path.string() + ")",
                     "a node belongs to one split at most");
  }

  ArcCounts import_edges() {
    Manifest& manifest = builder_.manifest();
    if (options_.order == "none") return build_graph(builder_.path(), manifest);
    const std::filesystem::path by_ids = builder_.path() / kByIds;
    make_folders(by_ids);  // arcs that do not fit the memory go there before the first shard
    Manifest given;
    const ArcCounts counts = build_graph(by_ids, given);
    manifest.max_weight = given.max_weight;
    manifest.order = options_.order;
    memory_of_positions_ = budget_.reserve(std::uint64_t{given.nodes} * sizeof(NodeId), "positions of nodes");
    if (const KeptGraph& ordered = keeper_->record().ordered; ordered.whole && keeper_->record().order) {
      read_order(given.nodes);
      take_shards(ordered.shards, manifest);
    } else {
      manifest.edges = given.edges;
      manifest.weight_sum = given.weight_sum;
      const Reservation degrees = budget_.reserve(sizeof(std::uint32_t) * std::uint64_t{given.nodes}, "degrees");
      reorder(Graph(by_ids, given, Changes()));
    }
    // Only once no record names its files: that of the ordered graph could be one that nobody could write.
    if (!keeper_->is_written() || keeper_->record().given.shards.empty()) std::filesystem::remove_all(by_ids);
    return counts;
  }

  /// A whole graph that was kept.
  void take_shards(const std::vector<CountedShard>& shards, Manifest& manifest) {
    std::uint64_t arcs = 0, unique = 0;
    for (const CountedShard& shard : shards) {
      manifest.shards.push_back(shard.file);
      arcs += shard.arcs;
      unique += shard.unique;
    }
    manifest.edges = unique / 2;
    manifest.max_weight = options_.max_weight;
    if (manifest.max_weight > 1) manifest.weight_sum = arcs / 2;
    report_.resumed->shards += shards.size();
  }

  /// Shards by the user's ids in a folder, named by a manifest.
  ArcCounts build_graph(const std::filesystem::path& folder, Manifest& manifest) {
    GraphKeeper keeper(*keeper_, &ImportRecord::given, "given");
    const KeptGraph kept = keeper.kept();
    if (kept.whole) {
      report_.ignored_weights = kept.counts.place.ignored_weights;
      report_.resumed->edges = kept.counts.edges_read;
      const ArcCounts counts = counts_of(kept.counts);
      settle_nodes(counts);
      manifest.nodes = nodes_.value();
      take_shards(kept.shards, manifest);
      std::uint64_t unique = 0;
      for (const CountedShard& shard : kept.shards.empty() ? keeper_->record().ordered.shards : kept.shards)
        unique += shard.unique;
      return with_arcs(counts, unique);
    }
    if (names_ && options_.edges && NameTable::bytes(names_->list()) <= memory_shares::kNameTable.of(budget_))
      name_table_.emplace(names_->list(), budget_);
    const Reservation memory = budget_.reserve(memory_shares::kEdgeSort.of(budget_), "sorting of edges");
    ArcSorter sorter(folder, static_cast<std::size_t>(memory.bytes()), nodes_.known(), options_.max_weight,
                     keeper.arcs(), own_sources());
    const std::unique_ptr<SortedArcs> arcs = collect_arcs(sorter, keeper, kept.arcs);
    name_table_.reset();
    settle_nodes(arcs->counts());
    require_room_for_weights(nodes_.value(), options_.max_weight);
    manifest.nodes = nodes_.value();
    meter_.start("graph", own_sources().value_or(NodeRange{0, nodes_.value()}).size(), "nodes");
    arcs->refuse_weights_by([this](Edge edge, std::uint32_t one, std::uint32_t other) {
      const auto text = [this](NodeId node) { return names_ ? names_->text(node) : std::to_string(node); };
      throw InputError(display_name(*options_.edges), "edge " + text(edge.u) + " " + text(edge.v),
                       "has the weight " + std::to_string(one) + " in one place and " + std::to_string(other) +
                           " in another; an edge has one weight, the same in both directions",
                       "correct the weights, or add up those of repeated edges before");
    });
    if (report_.resumed) report_.resumed->shards += kept.shards.size();
    BuiltShards built = build_shards(
        folder, nodes_.value(), options_.max_weight, *arcs, budget_, meter_, kept.shards,
        [&](std::span<const CountedShard> finished) { keeper.keep_shards(finished); }, own_spans());
    ArcCounts counts = arcs->counts();
    join_shards(builder_.path(), built, counts.spooled_bytes, job_);
    counts = with_arcs(counts, built.unique);
    keeper.finish(std::move(built.counted), nodes_.value(), counts);
    manifest.shards = std::move(built.files);
    manifest.edges = built.unique / 2;
    manifest.max_weight = options_.max_weight;
    if (manifest.max_weight > 1) manifest.weight_sum = built.arcs / 2;
    return counts;
  }

  /// What this rank has of a graph; nothing where it is alone, and has all of it.
  [[nodiscard]] std::optional<RankShare> own_spans() const {
    if (job_.alone()) return std::nullopt;
    return share_of(num_spans(nodes_.value()), job_.rank(), job_.size());
  }
  [[nodiscard]] std::optional<NodeRange> own_sources() const {
    const std::optional<RankShare> spans = own_spans();
    return spans ? std::optional(nodes_of(*spans, nodes_.value())) : std::nullopt;
  }

  /// Where nothing else tells the number of nodes, the largest id does.
  void settle_nodes(const ArcCounts& counts) {
    if (nodes_.known()) return;
    const auto largest = counts.largest_node;
    if (!largest) throw_no_edge(*options_.edges);
    require_plain_id(*largest, counts.edges_read, *options_.edges, edge_options());
    nodes_.agree(std::uint64_t{*largest} + 1, *options_.edges, "largest id + 1");
    if (counts.smallest_node == NodeId{1})
      remark(display_name(*options_.edges).string() +
             ": no edge has node 0, the smallest id is 1; ids that count from 1 should have 1 subtracted, else node 0 "
             "is a node without edges (" +
             option("nodes", "N") + " says that it is meant)");
  }

  void reorder(const Graph& graph) {
    Manifest& manifest = builder_.manifest();
    if (keeper_->record().order) {
      read_order(graph.num_nodes());
    } else {
      const auto start = std::chrono::steady_clock::now();
      positions_ = compute_order(options_.order, graph, budget_, meter_, &report_.order_reason);
      seconds_order_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      const Reservation inverse =
          budget_.reserve(std::uint64_t{graph.num_nodes()} * sizeof(NodeId), "ids of positions");
      manifest.order_file = write_order(builder_.path(), positions_);
      keeper_->settle([&](ImportRecord& record) {
        record.order = manifest.order_file;
        record.seconds_order = seconds_order_;
      });
    }
    meter_.start("ordered graph", 2 * std::uint64_t{graph.num_nodes()}, "nodes");
    GraphKeeper keeper(*keeper_, &ImportRecord::ordered, "ordered");
    if (report_.resumed) report_.resumed->shards += keeper.kept().shards.size();
    manifest.shards = build_reordered_shards(builder_.path(), graph, positions_, budget_, meter_, &keeper);
    keeper_->settle([](ImportRecord& record) { record.given.shards.clear(); });
  }

  /// Positions that another process has computed.
  void read_order(NodeId nodes) {
    const ImportRecord& record = keeper_->record();
    builder_.manifest().order_file = record.order;
    seconds_order_ = record.seconds_order;
    if (options_.order == "auto") report_.order_reason = "the order is the one that the import before it had chosen";
    const OrderFile file(builder_.path(), *record.order, nodes);
    positions_.resize(nodes);
    for (NodeId id = 0; id < nodes; ++id) positions_[id] = file.position(id);
  }

  [[nodiscard]] EdgeOptions edge_options() const {
    return {nodes_.known(),          builder_.path(),     options_.two_row_edges,
            options_.ignore_weights, options_.max_weight, options_.edge_weights};
  }

  /// Reading and distribution overlap. `kept`: arcs that the sorter has already.
  std::unique_ptr<SortedArcs> collect_arcs(ArcSorter& sorter, GraphKeeper& keeper,
                                           const std::optional<KeptArcs>& kept) {
    const EdgePlace place = kept ? kept->place : EdgePlace();
    report_.ignored_weights = place.ignored_weights;
    if (kept) report_.resumed->edges = place.edges;
    if ((kept && kept->whole) || !options_.edges) return sorter.finish();
    if (!names_) {
      collect_numbers(open_edges(*options_.edges, edge_options()), sorter, keeper, place);
      return sorter.finish();
    }
    OpenedEdges opened = open_named_edges(
        *options_.edges, edge_options(),
        [this](std::span<const std::string_view> names, NodeId* nodes) {
          name_table_ ? name_table_->find(names, nodes) : names_->index().find(names, nodes);
        },
        display_name(*options_.ids).string());
    if (opened.numbers)
      collect_numbers(opened.numbers, sorter, keeper, place);
    else
      collect_names(*opened.names, sorter, keeper, place);
    return sorter.finish();
  }

  /// Names are found on all threads.
  void collect_names(NamedEdges& reader, ArcSorter& sorter, GraphKeeper& keeper, const EdgePlace& begin) {
    meter_.start("edges", options_.stated_edges ? options_.stated_edges->count : 0, "edges");
    reader.go_on(begin);
    meter_.advance(begin.edges);
    std::uint64_t edges_read = begin.edges;
    const auto place = [&] {
      EdgePlace at = reader.place();
      at.edges = edges_read;
      at.ignored_weights = report_.ignored_weights;
      return at;
    };
    for (bool is_end = false; !is_end;) {
      bool is_first = true;
      run_pipeline<NamedEdgeChunk>(
          [&](NamedEdgeChunk& chunk) {
            if (!std::exchange(is_first, false) && keeper.is_due()) return false;
            is_end = !reader.next(chunk);
            return !is_end;
          },
          [&](NamedEdgeChunk& chunk) {
            reader.resolve(chunk);
            sorter.add(chunk.edges, chunk.weights);
          },
          [&](const NamedEdgeChunk& chunk) {
            edges_read += chunk.edges.size();
            report_.ignored_weights += chunk.ignored_weights;
            meter_.advance(chunk.edges.size());
          });
      if (!is_end) keeper.keep_arcs(sorter, place());
    }
    require_stated_edges(edges_read, "whole file");
    keeper.keep_all_arcs(sorter, place());
  }

  void collect_numbers(const std::unique_ptr<EdgeReader>& reader, ArcSorter& sorter, GraphKeeper& keeper,
                       const EdgePlace& begin) {
    if (const auto known = reader->count()) require_stated_edges(*known, ".npy header");
    if (const auto declared = reader->declared_nodes()) nodes_.agree(*declared, *options_.edges, "declared size");
    meter_.start("edges", reader->count().value_or(options_.stated_edges ? options_.stated_edges->count : 0), "edges");
    reader->go_on(begin);
    meter_.advance(begin.edges);
    struct ReadEdges {
      std::vector<Edge> edges;
      std::vector<std::uint32_t> weights;
    };
    for (bool is_end = false; !is_end;) {
      bool is_first = true;
      run_pipeline<ReadEdges>(
          [&](ReadEdges& piece) {
            if (!std::exchange(is_first, false) && keeper.is_due()) return false;
            piece.edges.resize(kReadEdges);
            if (options_.max_weight > 1) piece.weights.resize(kReadEdges);
            piece.edges.resize(reader->read(piece.edges, piece.weights));
            is_end = piece.edges.empty();
            return !is_end;
          },
          [&](const ReadEdges& piece) { sorter.add(piece.edges, piece.weights); },
          [&](const ReadEdges& piece) { meter_.advance(piece.edges.size()); });
      if (!is_end) keeper.keep_arcs(sorter, reader->place());
    }
    require_stated_edges(reader->place().edges, "whole file");
    report_.ignored_weights = reader->ignored_weights();
    keeper.keep_all_arcs(sorter, reader->place());
  }

  void require_stated_edges(std::uint64_t count, const std::string& place) const {
    const auto& stated = options_.stated_edges;
    if (!stated || stated->count == count) return;
    throw InputError(display_name(*options_.edges), place,
                     std::to_string(count) + " edges, but " + display_name(stated->file).string() + " (" +
                         stated->place + ") says " + std::to_string(stated->count),
                     "fetch the files again");
  }

  void import_features(std::unique_ptr<FeatureReader> reader) {
    if (!reader) return;
    Manifest& manifest = builder_.manifest();
    manifest.features = static_cast<std::uint32_t>(reader->columns());
    manifest.feature_layout = {reader->sparse() && !options_.standardize, options_.feature_type};
    manifest.standardized = options_.standardize;
    manifest.scale = options_.scale;
    FeatureKeeper keeper(*keeper_);
    if (report_.resumed) report_.resumed->feature_files = keeper.files().size();
    if (!options_.standardize) {
      meter_.start("features", own_sources().value_or(NodeRange{0, nodes_.value()}).size(), "rows");
      BuiltFeatures built = build_features(builder_.path(), *reader, options_.feature_type, options_.scale, positions_,
                                           budget_, meter_, job_.alone() ? &keeper : nullptr, own_spans());
      join_features(builder_.path(), built, job_);
      if (options_.scale.as_given && job_.first()) require_bounded(built.norms);
      manifest.feature_files = std::move(built.files);
      report_.rows_scaled = built.norms.above;
      report_.largest_norm = built.norms.largest;
      return;
    }
    StatisticsKeeper statistics(*keeper_);
    const auto standardization = measure_standardization([&] { return open_rows(); }, budget_, meter_, &statistics);
    meter_.start("features", reader->rows(), "rows");
    manifest.feature_files = build_standardized_features(builder_.path(), *reader, standardization,
                                                         options_.feature_type, positions_, budget_, meter_, &keeper);
  }

  /// Under --scale none.
  void require_bounded(const RowNorms& norms) const {
    if (norms.above == 0) return;
    throw InputError(display_name(first_file(*options_.features)), "row " + std::to_string(norms.first_above),
                     "norm " + shortest(norms.norm_of_first_above) + " is above 1, as of " +
                         std::to_string(norms.above) + (norms.above == 1 ? " row" : " rows") + "; " +
                         option("scale", "none") + " takes none",
                     "divide all rows by the largest norm, " + option("scale", shortest(norms.largest)) +
                         ", or each of these by its own, " + option("scale", "rows"));
  }

  const ImportOptions options_;
  MemoryBudget& budget_;
  WorkMeter& meter_;
  Ranks& job_;
  NodeCount nodes_;
  std::optional<ImportIdentity> identity_;  ///< nothing where it cannot be gone on with
  StoreBuilder builder_;
  std::optional<ImportKeeper> keeper_;  ///< after builder_, in whose folder it works on a thread of its own
  KeptNames names_kept_;
  std::optional<NodeNames> names_;
  std::optional<NameTable> name_table_;
  ReadId read_id_;  ///< empty where ids are numbers
  std::vector<std::int32_t> labels_;
  Split splits_[3] = {{"train", options_.train, builder_.manifest().train, {}},
                      {"valid", options_.valid, builder_.manifest().valid, {}},
                      {"test", options_.test, builder_.manifest().test, {}}};
  std::vector<NodeId> replayed_;   ///< sorted ids
  std::vector<NodeId> positions_;  ///< position of each id; empty where it equals the id
  Reservation memory_of_labels_, memory_of_positions_;
  ImportReport report_;
  double seconds_order_ = 0;
  std::uint64_t unlabelled_split_ids_ = 0;
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
  if (options.edge_weights && !options.edges) throw UsageError(option("edge-weights") + " needs " + option("edges"));
  if (options.max_weight < 1 || options.max_weight > kMostWeight)
    throw UsageError(option("max-weight", std::to_string(options.max_weight)) +
                     ": weights are whole numbers from 1 to " + std::to_string(kMostWeight) + " at most");
  if (options.edge_weights && options.max_weight == 1)
    throw UsageError(option("edge-weights") + " needs " + option("max-weight", "W") +
                     ", which declares the largest one, above 1");
  if (options.ignore_weights && options.max_weight > 1)
    throw UsageError(option("ignore-weights") + " and " + option("max-weight") + " exclude each other");
  if (!is_order(options.order)) throw UsageError(option("order", options.order) + ": there are none, " + order_names());
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

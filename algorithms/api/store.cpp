// algorithms/api/store.cpp - readers and writers of a store: facts, propagation, training.
#include "unweave/store.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "algorithms/api/internals.h"
#include "algorithms/live/export.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/propagate.h"
#include "algorithms/live/rank_propagation.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/live/tile_jobs.h"
#include "algorithms/models/lazy_error.h"
#include "algorithms/propagation/schemes.h"
#include "algorithms/registry/registry.h"
#include "engine/generations/store_purge.h"
#include "engine/generations/store_watch.h"
#include "engine/resources/machine_profile.h"
#include "engine/resources/watcher.h"
#include "storage/formats/journal.h"
#include "storage/formats/name_file.h"
#include "storage/formats/request_log.h"
#include "storage/input/nodes/label_reader.h"
#include "storage/input/words/class_words.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "storage/io/message.h"
#include "storage/io/plain_text.h"
#include "storage/io/store_folders.h"
#include "unweave/ranks.h"
#include "unweave/version.h"

namespace unweave {
inline namespace v0 {
namespace {

constexpr std::uint32_t kMostLevels = 1000;

std::uint64_t num_targets(const LiveStore& store) {
  const Contents& contents = store.contents();
  const std::uint32_t copies = contents.order().copies();
  if (store.propagated()) return store.embedding().cone().rows(store.embedding().levels()) / copies;
  // What a propagation takes by default.
  return contents.has_labels() && contents.held() == nullptr ? contents.num_labelled() / copies
                                                             : contents.order().users();
}

bool stands_on(const ModelRecord& record, const Manifest& manifest, const std::filesystem::path& store) {
  try {
    check_propagation(record, manifest, store);
    return true;
  } catch (const DataError&) {
    return false;
  }
}

/// Whether the model of this name was trained on the store's present propagation.
bool stands_on_present(const std::string& name, const LiveStore& store) {
  try {
    return stands_on(load_model(store.path(), name), store.manifest(), store.path());
  } catch (const UsageError&) {
    return true;  // purged meanwhile
  } catch (const DataError&) {
    return false;
  }
}

std::vector<ModelInfo> models_of(const std::vector<ModelSummary>& summaries, const LiveStore& store) {
  std::vector<ModelInfo> models;
  for (const ModelSummary& model : summaries) {
    ModelInfo info;
    info.name = model.name;
    info.solver = model.solver;
    info.damage = model.damage;
    if (model.damage.empty()) {
      info.id = model.id;
      info.digest = to_hex(model.digest);
      info.sequence = model.sequence;
      info.rows = model.rows;
      info.outdated = model.sequence != store.sequence();
      info.other_propagation = !stands_on_present(model.name, store);
    }
    models.push_back(std::move(info));
  }
  return models;
}

/// Whether files keep rows of a level: sums, or values in their place.
bool has_rows(const PropagationSpec& spec, std::uint32_t level) {
  return spec.kept.has_sums() ? level > 0 : keeps_rows(spec.kept, level, spec.levels);
}

void add_levels(StoreInfo& info, const LiveStore& store) {
  if (!store.propagated()) return;
  const Embedding& embedding = store.embedding();
  info.propagation = embedding.spec();
  info.stale_rows = embedding.stale_rows();
  info.lazy_error_bound = lazy_error_bound(embedding, store.contents());
  for (std::uint32_t level = 0; level <= embedding.levels(); ++level)
    info.levels.push_back({level, has_rows(embedding.spec(), level) ? embedding.cone().rows(level) : 0,
                           level < embedding.levels() ? embedding.stale(level).size() : 0});
}

/// The model of this name, where there is one that can be read.
/// The specification with the weights that its scheme gives. Throws UsageError for others, and what
/// the levels cannot be.
PropagationSpec with_weights(PropagationSpec spec) {
  if (spec.levels > kMostLevels) throw UsageError(option("hops") + " must be at most " + std::to_string(kMostLevels));
  if (spec.scheme.empty()) spec.scheme = spec.weights.empty() ? "sgc" : "gpr";
  if (spec.scheme == "chebyshev" && spec.scale_bits < kLeastChebyshevBits)
    throw UsageError(option("scheme", "chebyshev") + " needs " + option("scale-bits") + " of at least " +
                     std::to_string(kLeastChebyshevBits));
  const bool given = spec.scheme == "gpr";
  std::vector<double> weights = scheme_weights(spec.scheme, spec.levels, given ? spec.weights : std::vector<double>());
  if (!given && !spec.weights.empty() && spec.weights != weights)
    throw UsageError(option("weights") + " and " + option("scheme", spec.scheme) + " contradict each other");
  spec.weights = std::move(weights);
  return spec;
}

/// Tells the meter of the resources how far the sums have come.
PropagateMeter meter_of(Resources& resources) {
  return [&resources, started = false, told = std::uint64_t{0}](const PropagateProgress& progress) mutable {
    if (!std::exchange(started, true)) resources.meter().start("propagate", progress.total, "rows");
    resources.meter().advance(progress.done - std::exchange(told, progress.done));
  };
}

}  // namespace

namespace {

StoreInfo describe(const std::filesystem::path& path, Resources& resources, bool with_digest) {
  std::vector<ModelSummary> models = list_models(path);  // first: a writer at work acknowledges requests first
  const StoreReader store(path, resources.memory());
  const auto is_later = [&](const ModelSummary& model) { return model.sequence > store.sequence(); };
  if (std::any_of(models.begin(), models.end(), is_later)) models = list_models(path);  // purged meanwhile
  const Manifest& manifest = store.manifest();
  const Contents& contents = store.contents();
  // Entries of lists: an arc of a directed graph stands in two of them, too.
  const std::uint64_t arcs = manifest.weight_unit ? 2 * contents.graph().num_edges()
                                                  : contents.graph().num_arcs() / (manifest.layers.directed ? 2 : 1);
  StoreInfo info;
  info.nodes = manifest.user_nodes();
  info.directed = manifest.layers.directed;
  info.edges = contents.graph().num_edges();
  for (std::size_t type = 0; type < manifest.types.size(); ++type)
    info.types.push_back({manifest.types[type].name, first_id(manifest.types, type), manifest.types[type].nodes});
  if (contents.held() != nullptr) {
    info.pairs = contents.rules().pairs;
    info.held_edges = contents.held()->num_edges();
  }
  info.relations = relation_names(manifest.layers);
  if (knows_ends(manifest.layers))
    for (const Relation& relation : manifest.layers.relations) {
      info.ends.emplace_back();
      if (relation.ends)
        info.ends.back() = {manifest.types[relation.ends->u].name, manifest.types[relation.ends->v].name};
    }
  for (const auto& subset : manifest.layers.subsets) {
    info.subsets.emplace_back();
    for (const std::uint32_t one : subset) info.subsets.back().push_back(manifest.layers.relations[one].name);
  }
  info.max_weight = contents.rules().max_weight;
  info.weight_sum = contents.graph().num_arcs() / 2;
  info.weight_unit = manifest.weight_unit;
  info.arcs = arcs;
  info.features = manifest.features;
  info.classes = manifest.classes;
  info.class_names = class_names(store);
  if (manifest.names) info.named = contents.order().names().named();
  info.ids_are = manifest.ids_are;
  info.targets = num_targets(store);
  if (arcs > 0) info.bits_per_arc = 8.0 * static_cast<double>(bytes_of(manifest.shards)) / static_cast<double>(arcs);
  info.order = manifest.order;
  info.pending_requests = store.pending_requests();
  info.expiries = store.contents().expiries().size();
  info.next_expiry = store.contents().expiries().next();
  info.acknowledged = store.sequence();
  info.unfinished_bytes = store.unfinished_bytes();
  info.pending_purge = purge_state(path) != PurgeState::none;
  info.labelled = contents.num_labelled() / contents.order().copies();
  info.train = contents.train().size();
  info.valid = contents.valid().size();
  info.test = contents.test().size();
  const WholeGraphs& graphs = contents.graphs();
  info.graphs = graphs.count();
  if (graphs.any()) {
    info.train += graphs.members(SplitName::train).size();
    info.valid += graphs.members(SplitName::valid).size();
    info.test += graphs.members(SplitName::test).size();
    for (std::uint32_t graph = 0; graph < graphs.count(); ++graph)
      info.labelled_graphs += graphs.label(graph) == kNoLabel ? 0 : 1;
  }
  info.standardized = manifest.standardized;
  info.scale = manifest.scale;
  info.feature_layout = manifest.feature_layout;
  for (const FileEntry& file : manifest.files()) {
    const std::string folder = std::filesystem::path(file.path).begin()->string();
    const auto at =
        std::find_if(info.bytes.begin(), info.bytes.end(), [&](const auto& one) { return one.first == folder; });
    if (at != info.bytes.end())
      at->second += file.bytes;
    else
      info.bytes.emplace_back(folder, file.bytes);
  }
  if (const std::uint64_t bytes = tile_bytes(path); bytes > 0) info.bytes.emplace_back(kTilesFolder, bytes);
  add_levels(info, store);
  info.models = models_of(models, store);
  if (with_digest) info.digest = content_digest(store);
  return info;
}

}  // namespace

StoreInfo describe_store(const std::filesystem::path& named, Resources& resources, bool with_digest) {
  const std::filesystem::path path = resolved(named);
  return read_unwritten(path, [&] { return describe(path, resources, with_digest); });
}

Reader::Reader(const std::filesystem::path& store, Resources& resources)
    : resources_(&resources), store_(std::make_unique<StoreReader>(resolved(store), resources.memory())) {}
Reader::Reader(Reader&&) noexcept = default;
Reader::~Reader() = default;

const std::filesystem::path& Reader::path() const noexcept {
  return store_->path();
}
std::uint64_t Reader::nodes() const noexcept {
  return store_->contents().order().users();
}
std::uint64_t Reader::edges() const noexcept {
  return store_->contents().graph().num_edges();
}
std::uint32_t Reader::features() const noexcept {
  return store_->manifest().features;
}
const std::optional<PropagationSpec>& Reader::propagation() const noexcept {
  return store_->manifest().propagation;
}
bool Reader::labelled_rows() const noexcept {
  return has_labels() && store_->contents().held() == nullptr;
}
bool Reader::has_labels() const noexcept {
  return store_->contents().has_labels();
}
std::uint64_t Reader::acknowledged() const noexcept {
  return store_->sequence();
}

std::vector<std::string> Reader::class_names() const {
  return unweave::class_names(*store_);
}
const NodeNames& Reader::names() const noexcept {
  return store_->contents().order().names();
}

namespace {

/// What Writer::remark_on_ids() tells: of the journal, before anything empties it.
std::string remark_on(const LiveStore& store) {
  const Manifest& manifest = store.manifest();
  if (!manifest.journal || store.pending_requests() == 0) return {};
  std::uint64_t sequence = manifest.sequence, count = 0;
  std::string first;
  static_cast<void>(read_journal(store.path(), *manifest.journal, sequence, [&](const JournalBatch& batch) {
    for (const Request& request : batch.requests) {
      ++sequence;
      if (!text_fault(request.id) || count++ > 0) continue;
      first = "request " + std::to_string(sequence) + ", '" + printable(request.id) + "'";
    }
  }));
  if (count == 0) return {};
  return (count == 1 ? "the id of " + first + ", is"
                     : "the ids of " + std::to_string(count) + " requests, the first of them " + first + ", are") +
         " no plain text, as an older program took it; " + (count == 1 ? "it counts and is" : "they count and are") +
         " applied like others, shown in this way everywhere, and as they were sent only in " +
         (store.path() / kRequestLog).string();
}

}  // namespace

Writer::State::State(const std::filesystem::path& named, Resources& of)
    : resources(of), path(resolved(named)), held(std::in_place, path, of.memory()), remark_on_ids(remark_on(*held)) {}

Writer::State::State(const std::filesystem::path& named, Resources& of, Ranks& ranks)
    : resources(of),
      path(resolved(named)),
      held(std::in_place, path, ranks, of.memory()),
      remark_on_ids(remark_on(*held)) {}

StoreWriter& Writer::State::store() {
  if (!held)
    throw DataError(path.string() + ": it could not be opened again after a purge; open it anew, which tells why");
  return *held;
}

template <class Change>
auto Writer::State::reopen_after(const Change& change) {
  const WriterLock mine = store().share_lock();  // nobody else writes in between
  decltype(change(std::optional<WriterLock>())) report;
  std::exception_ptr error;
  try {
    std::optional<WriterLock> lock(std::move(*held).give_lock());
    held.reset();
    report = change(std::move(lock));
  } catch (...) {
    error = std::current_exception();
  }
  held.emplace(path, mine.share(), resources.memory());
  if (error) std::rethrow_exception(error);
  return report;
}

PurgeReport Writer::State::purge(const PurgeOptions& options) {
  require_no_session(store(), in_session);
  if (store().ranks() != nullptr)
    throw UsageError(path.string() + ": several ranks do not purge a store; end them, and purge it by one process");
  PurgeOptions signed_by = options;
  if (signed_by.program.empty()) signed_by.program = version();
  return reopen_after([&](std::optional<WriterLock> lock) {
    return purge_store(path, signed_by, resources.memory(), resources.meter(), std::move(lock));
  });
}

GrowReport Writer::State::grow(const GrowOptions& options) {
  require_no_session(store(), in_session);
  if (store().ranks() != nullptr)
    throw UsageError(path.string() +
                     ": several ranks do not make room in a store; end them, and let one process do that");
  return reopen_after([&](std::optional<WriterLock> lock) {
    return grow_store(path, options, resources.memory(), resources.meter(), std::move(lock));
  });
}

PurgeReport Writer::purge(const PurgeOptions& options) {
  return state_->purge(options);
}

Writer::Writer(const std::filesystem::path& store, Resources& resources, Ranks& ranks)
    : state_(std::make_unique<State>(store, resources, ranks)) {}
Writer::Writer(const std::filesystem::path& store, Resources& resources)
    : state_(std::make_unique<State>(store, resources)) {}
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;
Writer::~Writer() = default;

const std::filesystem::path& Writer::path() const noexcept {
  return state_->path;
}
const std::optional<PropagationSpec>& Writer::propagation() const noexcept {
  return state_->store().manifest().propagation;
}
std::uint64_t Writer::nodes() const noexcept {
  return state_->store().contents().order().users();
}
bool Writer::labelled_rows() const noexcept {
  return has_labels() && state_->store().contents().held() == nullptr;
}
bool Writer::has_labels() const noexcept {
  return state_->store().contents().has_labels();
}
std::uint64_t Writer::dropped_bytes() const noexcept {
  return state_->store().unfinished_bytes();
}

const std::string& Writer::remark_on_ids() const noexcept {
  return state_->remark_on_ids;
}
std::uint64_t Writer::acknowledged() const noexcept {
  return state_->store().sequence();
}

const NodeNames& Writer::names() const noexcept {
  return state_->store().contents().order().names();
}

namespace {

ReadId id_reader(const Reader& reader) {
  if (!reader.names().given()) return {};
  return [&reader](std::string_view word) { return reader.names().read(word); };
}

RequestWords words_of(const LiveStore& store, ReadId node) {
  return {std::move(node), std::make_shared<const ClassWords>(class_names(store)),
          relation_names(store.manifest().layers), store.manifest().weight_unit.has_value()};
}

}  // namespace

OpenedModel open_with_model(const std::filesystem::path& store, const ModelSelection& selection, Resources& resources) {
  for (;;) {
    OpenedModel opened{read_model(store, selection), Reader(store, resources)};
    if (opened.model.facts().sequence <= opened.reader.acknowledged()) return opened;
    // Where nobody has released it since, something else is wrong, and another reading says the
    // same.
    if (read_model(store, selection).certificate() == opened.model.certificate()) return opened;
  }
}

RequestWords request_words(const Reader& reader) {
  return words_of(Internals::store(reader), id_reader(reader));
}

std::shared_ptr<const NodeNames> names_in_files(const Writer& writer) {
  return std::make_shared<const NodeNames>(writer.path(), Internals::state(writer).store().manifest());
}

NodeList read_nodes(const Reader& reader, const std::string& file,
                    const std::function<void(const std::string&)>& remark) {
  NodeList list;
  MemoryBudget& budget = Internals::store(reader).budget();
  InputFile input = named_input(file);
  input.remark = remark;
  input.names_may_be_gone = true;
  list.nodes =
      read_node_ids(input, reader.nodes(), id_reader(reader), reader.names().ids_are(), [&](std::uint64_t bytes) {
        list.memory.release();
        list.memory = budget.reserve(bytes, file + ": a list of nodes");
      });
  return list;
}

namespace {

/// The node of a word in a request. A name that its node has lost means it still: the request is
/// rejected as one of nobody, and is told by it from other requests where it comes again with its
/// id.
NodeWord read_asked(const NodeNames& names, std::string_view word) {
  NodeWord read = names.read(word);
  if (!read.by_name || read.id != kUnknownName) return read;
  const std::string text = is_quoted(word) ? unquoted(word) : std::string(word);
  const std::string_view name = text;
  NodeId node = kNoNode;
  names.index().find({&name, 1}, &node);
  if (node != kNoNode) read.id = node;
  return read;
}

}  // namespace

RequestWords request_words(const Writer& writer) {
  ReadId node;
  // A checkpoint opens the names anew.
  if (writer.names().given()) node = [&writer](std::string_view word) { return read_asked(writer.names(), word); };
  return words_of(Internals::state(writer).store(), std::move(node));
}

void require_no_session(const LiveStore& store, bool in_session) {
  if (in_session) throw UsageError(store.path().string() + ": a stream session is open; close it first");
}

PropagateReport Writer::propagate(const PropagationSpec& wanted, const PropagateMeter& meter, const PropagateHow& how) {
  require_no_session(state_->store(), state_->in_session);
  const PropagationSpec spec = with_weights(wanted);
  StoreWriter& store = state_->store();
  Resources& resources = state_->resources;
  if (Ranks& job = Ranks::world(); !job.alone())
    return propagate_over_ranks(store, spec, resources.memory(), meter ? meter : meter_of(resources), how.restart,
                                how.by_rows ? RankCut::rows : RankCut::columns, job);
  // A small store does not wait for a measurement that takes longer than its propagation.
  const std::uint64_t bytes = bytes_of(store.manifest().shards) + bytes_of(store.manifest().feature_files);
  const std::optional<MachineProfile> machine =
      machine_profile(store.path(), resources.memory(), profile_use_for(bytes));
  const MachineProfile* const rates = machine ? &*machine : nullptr;
  if (meter) return unweave::propagate(store, spec, resources.memory(), meter, rates, how);
  return unweave::propagate(store, spec, resources.memory(), meter_of(resources), rates, how);
}

TileReport propagate_tiles(const Reader& reader, const PropagationSpec& spec, const TileChoice& choice,
                           const PropagateMeter& meter) {
  Resources& resources = Internals::resources(reader);
  return unweave::propagate_tiles(Internals::store(reader), with_weights(spec), choice, resources.memory(),
                                  meter ? meter : meter_of(resources));
}

std::vector<std::string> follow_propagation(const Reader& reader, const PropagationSpec& spec, bool by_rows) {
  return propagate_part(Internals::store(reader), with_weights(spec), Internals::resources(reader).memory(),
                        by_rows ? RankCut::rows : RankCut::columns, Ranks::world());
}

std::vector<std::string> Writer::models_lost_by(const PropagationSpec& next) const {
  std::vector<std::string> lost;
  const Manifest& present = state_->store().manifest();
  Manifest after = present;
  after.propagation = next;
  for (const ModelSummary& model : list_models(path())) {
    if (!model.damage.empty()) continue;
    const ModelRecord record = load_model(path(), model.name);
    if (stands_on(record, present, path()) && !stands_on(record, after, path())) lost.push_back(model.name);
  }
  return lost;
}

}  // namespace v0
}  // namespace unweave

// algorithms/api/links.cpp - pairs on their way in and out of a store of links.
#include "unweave/links.h"

#include <algorithm>
#include <array>
#include <utility>

#include "algorithms/api/internals.h"
#include "algorithms/evaluation/links.h"
#include "algorithms/live/live_store.h"
#include "algorithms/rows/pair_list.h"
#include "engine/resources/watcher.h"
#include "storage/input/edges/edge_reader.h"
#include "storage/io/error.h"
#include "storage/npy/npy_writer.h"
#include "unweave/remarks.h"
#include "unweave/rows.h"

namespace unweave {
inline namespace v0 {
namespace {

constexpr std::size_t kPairsARead = std::size_t{1} << 16;

/// Pairs as they come, which are charged before there is room for them.
class Listed {
 public:
  Listed(MemoryBudget& budget, const std::string& file) : budget_(budget), file_(file) {}
  void add(std::span<const Edge> some) {
    std::vector<Edge>& pairs = listing_.pairs;
    if (pairs.size() + some.size() > pairs.capacity()) {
      const std::size_t capacity = std::max(pairs.size() + some.size(), 2 * pairs.capacity());
      Reservation more = budget_.reserve(capacity * sizeof(Edge), file_ + ": a list of pairs");
      pairs.reserve(capacity);
      listing_.memory = std::move(more);
    }
    pairs.insert(pairs.end(), some.begin(), some.end());
  }
  [[nodiscard]] PairListing take() { return std::move(listing_); }

 private:
  MemoryBudget& budget_;
  const std::string& file_;
  PairListing listing_;
};

/// Whoever watches this thread already, such as a service that may end, or else the reader's own
/// meter.
WorkMeter& meter_for(const Reader& reader) {
  WorkMeter* const present = WatchedBy::now();
  return present != nullptr ? *present : Internals::resources(reader).meter();
}

/// Whether a pair is of a node and itself, which no edge joins but an arc.
bool is_loop(const Reader& reader, Edge pair) {
  return pair.u == pair.v && !Internals::store(reader).contents().order().layers().directed;
}

void require_pairs_in(const Reader& reader, std::span<const Edge> pairs) {
  for (const Edge& pair : pairs) {
    const std::array<NodeId, 2> ends{pair.u, pair.v};
    require_ids(reader, ends);
    if (is_loop(reader, pair))
      throw UsageError("the pair of node " + reader.names().text(pair.u) +
                       " and itself: no edge joins a node with itself; take it out of the list");
  }
}

}  // namespace

PairListing read_pairs(const Reader& reader, const std::string& file,
                       const std::function<void(const std::string&)>& remark) {
  const LiveStore& store = Internals::store(reader);
  InputFile input = named_input(file);
  input.remark = remark;
  input.header_key = "edges";
  input.words_are_data = reader.names().given();
  EdgeOptions options;
  options.num_nodes = reader.nodes();
  options.temp_dir = store.temporary_folder();
  options.ids_are = reader.names().ids_are();
  Listed listed(store.budget(), file);
  const NodeNames& names = reader.names();
  OpenedEdges edges;
  if (!names.given())
    edges.numbers = open_edges(input, options);
  else
    edges = open_named_edges(
        input, options,
        [&](std::span<const std::string_view> words, NodeId* nodes) { names.index().find(words, nodes); },
        reader.path().string());
  std::vector<Edge> some(kPairsARead);
  if (edges.numbers)
    while (const std::size_t count = edges.numbers->read(some)) listed.add(std::span(some).first(count));
  NamedEdgeChunk chunk;
  while (edges.names && edges.names->next(chunk)) {
    edges.names->resolve(chunk);
    listed.add(chunk.edges);
  }
  PairListing listing = listed.take();
  const auto same =
      std::find_if(listing.pairs.begin(), listing.pairs.end(), [&](Edge pair) { return is_loop(reader, pair); });
  if (same != listing.pairs.end())
    throw InputError(display_name(input), "pair " + std::to_string(same - listing.pairs.begin() + 1),
                     "node " + names.text(same->u) + " and itself, which no edge joins", "take it out of the list");
  return listing;
}

std::string remark_on_blank_ends(const Reader& reader, const std::vector<Edge>& pairs) {
  require_pairs_in(reader, pairs);
  const Reservation memory =
      Internals::store(reader).budget().reserve(2 * pairs.size() * sizeof(NodeId), "the ends of pairs");
  std::vector<NodeId> ends;
  ends.reserve(2 * pairs.size());
  for (const Edge& pair : pairs) ends.insert(ends.end(), {pair.u, pair.v});
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return remark_on_blank_nodes(reader, ends);
}

std::string remark_on_present_edges(const Reader& reader, const std::string& file, const std::vector<Edge>& pairs) {
  const Contents& contents = Internals::store(reader).contents();
  const NodeOrder& order = contents.order();
  const auto present = std::count_if(pairs.begin(), pairs.end(), [&](const Edge& pair) {
    const auto [u, v] = order.ends(pair.u, pair.v);
    return contents.graph_of(u, v).has_edge(u, v);
  });
  if (present == 0) return {};
  return file + ": " + std::to_string(present) + " of " + std::to_string(pairs.size()) +
         " pairs are edges of the store, and are taken as pairs of no edge all the same";
}

void score_links(const Reader& reader, const StoredModel& model, const std::vector<Edge>& pairs, const LinkSink& sink) {
  const WatchedBy watched(meter_for(reader));
  require_propagation(reader, model);
  require_pairs_in(reader, pairs);
  unweave::score_links(Internals::store(reader), Internals::record(model), pairs, sink);
}

void best_links(const Reader& reader, const StoredModel& model, const std::vector<NodeId>& nodes, std::size_t top,
                const LinkSink& sink) {
  const WatchedBy watched(meter_for(reader));
  require_propagation(reader, model);
  require_ids(reader, nodes);
  unweave::best_links(Internals::store(reader), Internals::record(model), nodes, top, sink);
}

void export_pairs(const Reader& reader, const std::string& split, const NpyTarget& target) {
  const LiveStore& store = Internals::store(reader);
  const WatchedBy watched(Internals::resources(reader).meter());
  if (split != "train" && split != "valid" && split != "test")
    throw UsageError("'" + split + "' is no split; there are train, valid and test");
  const PairRole role = split == "train" ? PairRole::label : split == "valid" ? PairRole::valid : PairRole::test;
  const PairList list(store.contents(), role, store.budget());
  const NodeOrder& order = store.contents().order();
  const std::array<std::uint64_t, 2> shape{list.size(), 3};
  NpyWriter writer(target, "<i8", sizeof(std::int64_t), shape);
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Edge ends = list.ends()[i];
    values.insert(values.end(), {order.user(ends.u), order.user(ends.v), list.is_edge(i) ? 1 : 0});
    if (values.size() < 3 * kPairsARead) continue;
    writer.append(std::span<const std::int64_t>(values));
    values.clear();
  }
  writer.append(std::span<const std::int64_t>(values));
  writer.finish();
}

}  // namespace v0
}  // namespace unweave

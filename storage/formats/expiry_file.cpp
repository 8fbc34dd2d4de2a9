// storage/formats/expiry_file.cpp - writes what is to be removed when, and reads and checks it.
#include "storage/formats/expiry_file.h"

#include <algorithm>
#include <string_view>

#include "storage/formats/journal.h"
#include "storage/formats/request_log.h"
#include "storage/io/private_file.h"
#include "storage/types/layers.h"
#include "storage/types/request.h"

namespace unweave {
namespace {

static_assert(sizeof(PackedExpiry) == 16);

bool is_item(Edge item, NodeId nodes, std::uint32_t graphs) noexcept {
  if (is_graph_item(item)) return item.v < graphs;
  return item.v < nodes && (item.u <= item.v || is_feature_item(item));
}

/// The kinds of a request about an edge, a node, features, and a whole graph.
struct Kinds {
  RequestKind edge, node, feature, graph;
};

/// A request of one of these kinds, about the item: an edge is named by its nodes, the first one as
/// an arc has it, and by its relation, which its copies tell.
Request request_about(const Expiry& expiry, const Layers& layers, NodeId users, const Kinds& kinds) {
  const auto& [item, time, id] = expiry;
  const std::string moment = time_text(time);
  if (is_feature_item(item)) return {kinds.feature, item.v, 0, id, moment};
  if (is_graph_item(item)) return {kinds.graph, item.v, 0, id, moment};
  if (is_node_item(item)) return {kinds.node, item.u, 0, id, moment};
  Request request{kinds.edge, item.u % users, item.v % users, id, moment};
  if (!layers.relations.empty()) request.relation = layers.layer_of(item.u / users) + 1;
  return request;
}

}  // namespace

Request note_request(const Expiry& expiry, const Layers& layers, NodeId users) {
  return request_about(
      expiry, layers, users,
      {RequestKind::expire_edge, RequestKind::expire_node, RequestKind::expire_feature, RequestKind::expire_graph});
}

Request removal_request(const Expiry& expiry, const Layers& layers, NodeId users) {
  return request_about(
      expiry, layers, users,
      {RequestKind::remove_edge, RequestKind::remove_node, RequestKind::remove_feature, RequestKind::remove_graph});
}

FileEntry write_expiries(const std::filesystem::path& store, std::span<const Expiry> expiries) {
  SealedWriter writer({store, "graph", "expiries", "expiries", "expiries"});
  std::string ids;
  bool has_ids = false;
  for (const Expiry& one : expiries) {
    const PackedExpiry packed{one.item, one.time};
    writer.append_values(std::span(&packed, 1));
    has_ids |= !one.id.empty();
  }
  if (has_ids)
    for (const Expiry& one : expiries) ids.append(one.id) += '\n';
  writer.append(std::as_bytes(std::span(ids)));
  FileEntry entry = writer.finish({expiries.size(), ids.size()});
  make_private(File::open_stored(store / entry.path));  // what a person has agreed to until when
  return entry;
}

std::vector<Expiry> read_expiries(const std::filesystem::path& store, const FileEntry& entry, NodeId nodes,
                                  std::uint32_t graphs) {
  const SealedFile file(store, entry, "expiries");
  const std::uint64_t count = file.parameters()[0], text = file.parameters()[1];
  if (count > file.size() / sizeof(PackedExpiry) || file.size() - count * sizeof(PackedExpiry) != text)
    file.fail(file.size(), "another number of items, or of bytes of ids, than its header says");
  const auto values = file.values<PackedExpiry>(0, count);
  const std::uint64_t text_at = count * sizeof(PackedExpiry);
  const auto bytes = file.values<char>(text_at, text);
  std::string_view ids(bytes.data(), bytes.size());
  std::vector<Expiry> all;
  all.reserve(count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [item, time] = values[i];
    if (!is_item(item, nodes, graphs) || (i > 0 && item <= values[i - 1].item))
      file.fail(i * sizeof(PackedExpiry), "items out of range or out of order");
    if (time < 0) file.fail(i * sizeof(PackedExpiry), "a moment before 1970");
    Expiry& one = all.emplace_back(Expiry{item, time});
    if (text == 0) continue;
    const std::size_t end = ids.find('\n');
    if (end == std::string_view::npos || end > kMostIdBytes || !is_journal_text(ids.substr(0, end)))
      file.fail(text_at, "ids that are none");
    one.id = ids.substr(0, end);
    ids.remove_prefix(end + 1);
  }
  if (!ids.empty()) file.fail(text_at, "ids of more items than there are");
  return all;
}

std::uint64_t count_expiries(const FileEntry& entry) noexcept {
  return entry.bytes / sizeof(PackedExpiry);
}

}  // namespace unweave

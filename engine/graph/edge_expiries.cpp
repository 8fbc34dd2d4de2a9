// engine/graph/edge_expiries.cpp - keeps the expiries of edges by edge and by time.
#include "engine/graph/edge_expiries.h"

namespace unweave {

EdgeExpiries::EdgeExpiries(const std::filesystem::path& store, const Manifest& manifest) {
  if (!manifest.expiries) return;
  for (const auto& [edge, time] : read_expiries(store, *manifest.expiries, manifest.nodes)) set(edge, time);
}

std::optional<Millis> EdgeExpiries::find(Edge edge) const {
  const auto found = times_.find(edge);
  return found == times_.end() ? std::nullopt : std::optional(found->second);
}

void EdgeExpiries::set(Edge edge, std::optional<Millis> time) {
  if (const auto before = find(edge)) by_time_.erase({*before, edge});
  if (time) {
    times_[edge] = *time;
    by_time_.emplace(*time, edge);
  } else {
    times_.erase(edge);
  }
}

std::optional<Millis> EdgeExpiries::next() const {
  return by_time_.empty() ? std::nullopt : std::optional(by_time_.begin()->first);
}

std::vector<EdgeExpiry> EdgeExpiries::due(Millis now, std::size_t most) const {
  std::vector<EdgeExpiry> found;
  for (const auto& [time, edge] : by_time_) {
    if (time > now || found.size() == most) break;
    found.push_back({edge, time});
  }
  return found;
}

std::vector<EdgeExpiry> EdgeExpiries::sorted() const {
  std::vector<EdgeExpiry> all;
  all.reserve(times_.size());
  for (const auto& [edge, time] : times_) all.push_back({edge, time});
  return all;
}

}  // namespace unweave

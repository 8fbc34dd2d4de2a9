// engine/graph/expiries.cpp - keeps notes of what is to go by item and by time.
#include "engine/graph/expiries.h"

#include "storage/formats/manifest.h"

namespace unweave {

Expiries::Expiries(const std::filesystem::path& store, const Manifest& manifest) {
  if (!manifest.expiries) return;
  for (Expiry& one :
       read_expiries(store, *manifest.expiries, manifest.nodes, manifest.graphs ? manifest.graphs->count : 0))
    set(one.item, ExpiryNote{one.time, std::move(one.id)});
}

const ExpiryNote* Expiries::find(Edge item) const {
  const auto found = notes_.find(item);
  return found == notes_.end() ? nullptr : &found->second;
}

void Expiries::set(Edge item, std::optional<ExpiryNote> note) {
  if (const auto before = notes_.find(item); before != notes_.end()) {
    by_time_.erase({before->second.time, item});
    id_bytes_ -= before->second.id.size();
    notes_.erase(before);
  }
  if (!note) return;
  by_time_.emplace(note->time, item);
  id_bytes_ += note->id.size();
  notes_.emplace(item, *std::move(note));
}

std::optional<Millis> Expiries::next() const {
  return by_time_.empty() ? std::nullopt : std::optional(by_time_.begin()->first);
}

std::vector<Expiry> Expiries::due(Millis now, std::size_t most) const {
  std::vector<Expiry> found;
  for (const auto& [time, item] : by_time_) {
    if (time > now || found.size() == most) break;
    found.push_back({item, time, notes_.find(item)->second.id});
  }
  return found;
}

std::vector<Expiry> Expiries::sorted() const {
  std::vector<Expiry> all;
  all.reserve(notes_.size());
  for (const auto& [item, note] : notes_) all.push_back({item, note.time, note.id});
  return all;
}

}  // namespace unweave

// algorithms/live/feed_registry.h - the feeds of changes (change_feed.h) that a store has had, and
// what their readers have yet to take: whoever purges a store asks whether copies of its rows
// elsewhere have followed.
//
// certificates/feeds holds the absolute path of a folder a line. What a reader writes when it has
// taken an entry is its receipt. The list has no checksum, and a store may come from somebody else:
// where it points to, files are read without following links, and nothing of them is told but
// numbers and the names of readers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace unweave {

/// As it lies in a store.
inline constexpr const char* kFeedList = "certificates/feeds";

/// Notes a feed; durable on return.
void register_feed(const std::filesystem::path& store, const std::filesystem::path& folder);
/// Forgets all of them; durable on return.
void forget_feeds(const std::filesystem::path& store);

/// A message for each reader that has not taken all entries of a feed, each feed that ends before
/// the store's request `sequence`, and each that is gone. Feeds without readers are asked for
/// nothing.
[[nodiscard]] std::vector<std::string> lagging_feeds(const std::filesystem::path& store, std::uint64_t sequence);

}  // namespace unweave

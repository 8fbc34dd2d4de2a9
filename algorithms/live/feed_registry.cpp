// algorithms/live/feed_registry.cpp - a list of folders, and a look into each.
#include "algorithms/live/feed_registry.h"

#include <algorithm>
#include <exception>

#include "algorithms/live/change_feed.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/json_text.h"
#include "storage/io/line_log.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> feeds_of(const fs::path& store) {
  std::vector<std::string> feeds;
  static_cast<void>(
      read_lines(store / kFeedList, [&](std::string_view line, std::uint64_t) { feeds.emplace_back(line); }));
  return feeds;
}

std::string entries_text(std::uint64_t first, std::uint64_t last) {
  return first == last ? "entry " + std::to_string(first)
                       : "entries " + std::to_string(first) + " to " + std::to_string(last);
}

}  // namespace

void register_feed(const fs::path& store, const fs::path& folder) {
  const std::string path = fs::weakly_canonical(fs::absolute(folder)).string();
  if (path.find('\n') != std::string::npos) throw UsageError(path + ": the path of a feed of changes must be one line");
  const std::vector<std::string> feeds = feeds_of(store);
  if (std::find(feeds.begin(), feeds.end(), path) != feeds.end()) return;
  AppendedLine(store / kFeedList, path, Readers::owner).sync();
}

void forget_feeds(const fs::path& store) {
  if (!fs::remove(store / kFeedList)) return;
  sync_directory((store / kFeedList).parent_path());
}

std::vector<std::string> lagging_feeds(const fs::path& store, std::uint64_t sequence) {
  std::vector<std::string> lags;
  for (const std::string& feed : feeds_of(store)) {
    const std::optional<FeedEnd> end = end_of_feed(feed);
    if (!end) {
      lags.push_back(feed + ": the feed of changes is gone, and with it what its readers have taken");
      continue;
    }
    if (end->readers.empty()) continue;
    if (end->sequence < sequence)
      lags.push_back(feed + ": the feed of changes ends at request " + std::to_string(end->sequence) +
                     ", and the store at " + std::to_string(sequence) + "; bring it there by " +
                     operation("stream " + store.string() + ' ' + option("requests", "/dev/null") + ' ' +
                               option("changes", feed)));
    for (const auto& [reader, taken] : end->readers)
      if (taken < end->entry)
        lags.push_back(std::string(feed)
                           .append(": the reader ")
                           .append(reader)
                           .append(" has yet to take ")
                           .append(entries_text(taken + 1, end->entry)));
  }
  return lags;
}

}  // namespace unweave

// algorithms/live/feed_registry.cpp - a list of folders, and a look into each.
#include "algorithms/live/feed_registry.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "algorithms/live/change_feed.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/json_text.h"
#include "storage/io/line_log.h"
#include "storage/io/plain_text.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFeeds = 1000;  // A list may come from somebody else, and so may the readers in them.

/// The first feeds, and how many lines there are.
std::pair<std::vector<std::string>, std::uint64_t> feeds_of(const fs::path& store) {
  std::vector<std::string> feeds;
  std::uint64_t lines = 0;
  static_cast<void>(read_lines(store / kFeedList, [&](std::string_view line, std::uint64_t) {
    if (lines++ < kMostFeeds) feeds.emplace_back(line);
  }));
  return {std::move(feeds), lines};
}

/// Whether the line is a path as register_feed() writes them. The list has no checksum: whoever
/// made the store wrote what he liked.
bool is_feed_path(const std::string& line) {
  return line.starts_with('/') && line.find('\0') == std::string::npos &&
         fs::path(line).lexically_normal().string() == line;
}

/// The name of a reader, as a message may have it.
bool is_reader_name(std::string_view name) {
  constexpr std::size_t kMostBytes = 64;
  return name.size() <= kMostBytes && !text_fault(name) && name.find(' ') == std::string_view::npos;
}

std::string entries_text(std::uint64_t first, std::uint64_t last) {
  return first == last ? "entry " + std::to_string(first)
                       : "entries " + std::to_string(first) + " to " + std::to_string(last);
}

}  // namespace

void register_feed(const fs::path& store, const fs::path& folder) {
  const std::string path = fs::absolute(resolved(folder)).lexically_normal().string();
  if (path.find('\n') != std::string::npos) throw UsageError(path + ": the path of a feed of changes must be one line");
  const auto [feeds, lines] = feeds_of(store);
  if (std::find(feeds.begin(), feeds.end(), path) != feeds.end()) return;
  if (lines >= kMostFeeds)
    throw UsageError((store / kFeedList).string() + ": the store has had " + std::to_string(lines) +
                     " feeds of changes, and as many as it may have; take the lines of those out that are gone");
  AppendedLine(store / kFeedList, path, Readers::owner).sync();
}

void forget_feeds(const fs::path& store) {
  if (!remove_entry(store / kFeedList)) return;
  sync_directory((store / kFeedList).parent_path());
}

std::vector<std::string> lagging_feeds(const fs::path& store, std::uint64_t sequence) {
  std::vector<std::string> lags;
  const auto [feeds, lines] = feeds_of(store);
  if (lines > kMostFeeds)
    lags.push_back((store / kFeedList).string() + ": " + std::to_string(lines) + " lines, of which the first " +
                   std::to_string(kMostFeeds) +
                   " were looked at; take the others out, or restore the file from a copy");
  for (const std::string& feed : feeds) {
    if (lags.size() > kMostFeeds) break;
    if (!is_feed_path(feed)) {
      lags.push_back((store / kFeedList).string() +
                     ": a line of it is no absolute path of a feed of changes, and nothing was looked for there; take "
                     "the line out, or restore the file from a copy");
      continue;
    }
    std::optional<FeedEnd> end;
    try {
      end = end_of_feed(feed);
    } catch (const DataError& error) {  // nothing of the store is wrong
      lags.push_back(error.message());
      continue;
    }
    if (!end) {
      lags.push_back(feed + ": the feed of changes is gone, and with it what its readers have taken");
      continue;
    }
    if (end->readers.empty()) continue;
    if (end->sequence < sequence)
      lags.push_back(feed + ": the feed of changes ends at request " + std::to_string(end->sequence) +
                     ", and the store at " + std::to_string(sequence) + "; bring it there by " +
                     operation("stream " + shell_word(store.string()) + ' ' + option("requests", "/dev/null") + ' ' +
                               option("changes", shell_word(feed))));
    for (const auto& [reader, taken] : end->readers) {
      if (taken > end->entry && lags.size() <= kMostFeeds)
        lags.push_back(std::string(feed)
                           .append(is_reader_name(reader) ? ": the reader " + reader : ": a reader")
                           .append(" has a mark beyond the feed, which was begun anew or is an older copy; remove its "
                                   "file, and let it begin anew"));
      if (taken < end->entry && lags.size() <= kMostFeeds)
        lags.push_back(std::string(feed)
                           .append(is_reader_name(reader) ? ": the reader " + reader : ": a reader")
                           .append(" has yet to take ")
                           .append(entries_text(taken + 1, end->entry)));
    }
  }
  return lags;
}

}  // namespace unweave

// algorithms/live/change_feed.cpp - writes the rows that batches change, and knows whether it has
// missed any.
#include "algorithms/live/change_feed.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "algorithms/live/export.h"
#include "algorithms/live/feed_registry.h"
#include "algorithms/live/live_store.h"
#include "storage/input/bytes/npy.h"
#include "storage/io/checksum.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/hex.h"
#include "storage/io/json_text.h"
#include "storage/io/line_log.h"
#include "storage/npy/id_writer.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostStateBytes = std::uint64_t{64} << 20;  // that a manifest may have
constexpr std::string_view kLines = "changes.jsonl", kState = "state.json", kReaders = "readers";

/// A small file; nothing where it cannot be read.
std::string bytes_of(const fs::path& path) {
  const File file = File::try_open_stored(path);
  if (!file.is_open() || file.size() > kMostStateBytes) return {};
  std::string bytes(file.size(), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

/// The last entry that a reader's file names; none where it names none.
std::optional<std::uint64_t> taken_by(const fs::path& reader) {
  const std::string text = bytes_of(reader);
  std::uint64_t entry = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), entry);
  if (error != std::errc()) return std::nullopt;
  return entry;
}

void write_ids(const fs::path& path, std::span<const NodeId> ids, const WriteId& write) {
  IdWriter writer(path, ids.size(), write);
  constexpr std::size_t kChunk = 4096;
  std::array<std::int64_t, kChunk> wide{};
  for (std::size_t at = 0; at < ids.size(); at += kChunk) {
    const std::size_t count = std::min(kChunk, ids.size() - at);
    std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(at), count, wide.begin());
    writer.append(std::span<const std::int64_t>(wide.data(), count));
  }
  writer.finish();
}

/// A number in the last line of a feed. Throws DataError.
std::uint64_t number_in(const fs::path& lines, const std::string& line, const char* member) {
  try {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 53;
    const auto number = whole_number<std::uint64_t>(parse_json(line).at(member));
    if (number > kMost) throw std::out_of_range("a number above 2^53");
    return number;
  } catch (const std::exception& fault) {
    throw DataError(lines.string() + ": the last line names no entry (" + fault_of(fault) +
                    "); restore the file from a copy, or begin a feed in a new folder");
  }
}

}  // namespace

std::optional<FeedEnd> end_of_feed(const fs::path& folder) {
  const std::optional<std::string> last = last_line(folder / kLines);
  if (!last) return std::nullopt;
  FeedEnd end{number_in(folder / kLines, *last, "entry"), number_in(folder / kLines, *last, "sequence"), {}};
  for (const Entry& one : list_folder(folder / kReaders))
    end.readers.emplace_back(one.name(), taken_by(one.path).value_or(0));
  std::sort(end.readers.begin(), end.readers.end());
  return end;
}

namespace {

/// The number of the entry that a file belongs to, by its name (ChangeFeed::file()); none where it
/// is no file of a feed.
std::optional<std::uint64_t> entry_of(std::string_view name) {
  std::uint64_t entry = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), entry);
  if (error != std::errc()) return std::nullopt;
  const std::string_view rest = name.substr(static_cast<std::size_t>(end - name.data()));
  const bool is_own = std::to_string(entry).size() + rest.size() == name.size() &&
                      (rest == ".rows.npy" || rest == ".ids.npy" || rest == ".ids.txt" || rest == ".removed.npy" ||
                       rest == ".removed.txt");
  return is_own ? std::optional(entry) : std::nullopt;
}

/// Whether a name is that of a file of an entry while it is written, ".17.rows.npy.4711.new"
/// (npy_writer.h), which a writer that was ended leaves behind.
bool is_begun_file(std::string_view name) {
  constexpr std::string_view kEnd = ".new";
  if (!name.starts_with('.') || !name.ends_with(kEnd)) return false;
  name = name.substr(1, name.size() - 1 - kEnd.size());
  return entry_of(name.substr(0, name.rfind('.'))).has_value();
}

/// What a writer that was ended before its first line leaves in the folder.
bool is_begun_feed(const fs::path& folder) {
  const std::vector<Entry> entries = list_folder(folder);
  return std::all_of(entries.begin(), entries.end(), [](const Entry& one) {
    return one.name() == kReaders || entry_of(one.name()) || is_begun_file(one.name());
  });
}

}  // namespace

ChangeFeed::ChangeFeed(const LiveStore& store, const fs::path& folder) : store_(store), folder_(resolved(folder)) {
  store.embedding().require_sums(store.path());  // throws before a propagation, too
  if (has_entry(folder_) && !is_folder(folder_))
    throw UsageError(folder_.string() + ": this is no folder; name one for the feed of changes");
  if (!has_entry(folder_ / kLines) && !is_begun_feed(folder_))
    throw UsageError(folder_.string() + ": the folder holds other files than a feed of changes; name a new one");
  make_folders(folder_ / kReaders);
  if (const auto last = last_line(folder_ / kLines)) entry_ = number_in(folder_ / kLines, *last, "entry");
  for (const Entry& one : list_folder(folder_)) {
    const std::optional<std::uint64_t> entry = entry_of(one.name());
    // What a crash kept from its line; all others are a user's own.
    if (is_begun_file(one.name()) || (entry && *entry > entry_)) drop_entry(one.path);
  }
  for (const Entry& one : list_folder(folder_ / kReaders))
    if (const std::optional<std::uint64_t> taken = taken_by(one.path); taken && *taken > entry_)
      throw DataError(
          one.path.string() + ": its reader has taken entry " + std::to_string(*taken) +
          ", and the feed ends at entry " + std::to_string(entry_) +
          ": the feed was begun anew, or is an older copy; remove this file, and let the reader begin anew");
  register_feed(store.path(), folder_);
  if (entry_ == 0 || bytes_of(folder_ / kState) != state()) add_all_rows();
}

std::string ChangeFeed::state() const {
  const std::string manifest = bytes_of(store_.path() / kManifestName);
  const Checksum128 checksum = checksum128(std::as_bytes(std::span(manifest)), {});
  return text_of_json(nlohmann::ordered_json{{"sequence", store_.sequence()}, {"manifest", to_hex(checksum)}}) + "\n";
}

std::span<const double> ChangeFeed::weights() const {
  return store_.manifest().propagation->weights;
}

fs::path ChangeFeed::file(std::uint64_t entry, const char* what) const {
  return folder_ / (std::to_string(entry) + "." + what + ".npy");
}

fs::path ChangeFeed::names_file(std::uint64_t entry, const char* what) const {
  return file(entry, what).replace_extension(".txt");
}

void ChangeFeed::add_ids(const char* what, std::span<const NodeId> ids, std::span<const NodeId> nameless) {
  const NodeNames& names = store_.contents().order().names();
  write_ids(file(entry_ + 1, what), ids, names.writer());
  if (!names.given()) return;
  write_ids(names_file(entry_ + 1, what), ids, [&](std::uint64_t user) {
    const auto node = static_cast<NodeId>(user);
    const bool goes = std::binary_search(nameless.begin(), nameless.end(), node);
    return goes ? std::string(names.name_in_files(node)) : names.text(user);
  });
}

/// The names of the nodes of an array, which may be all that there are.
void ChangeFeed::name_rows() const {
  const NodeNames& names = store_.contents().order().names();
  if (!names.given()) return;
  NpyReader ids(InputFile{file(entry_ + 1, "ids"), {}});
  IdWriter writer(names_file(entry_ + 1, "ids"), ids.header().elements, names.writer());
  std::array<std::int64_t, 4096> chunk{};
  while (const std::size_t count = ids.read(std::span<std::int64_t>(chunk)))
    writer.append(std::span<const std::int64_t>(chunk).first(count));
  writer.finish();
}

void ChangeFeed::add_all_rows() {
  const std::uint64_t entry = entry_ + 1;
  const ExportedRows written = export_embeddings(store_, std::nullopt, weights(), NpyTarget(file(entry, "rows")),
                                                 MissingRows::leave_out, NpyTarget(file(entry, "ids")));
  name_rows();
  add_ids("removed", {});
  add_line(true, written.rows, 0);
}

void ChangeFeed::add(const BatchReport& batch) {
  if (batch.update.all_rows) return add_all_rows();
  const Embedding& embedding = store_.embedding();
  const NodeOrder& order = store_.contents().order();
  std::vector<NodeId> ids, removed, nameless;
  const Reservation memory = store_.budget().reserve(
      (batch.update.changed.size() + batch.changes.nodes.size()) * 3 * sizeof(NodeId), "ids of changed rows");
  const auto put = [&](NodeId node) { (embedding.is_target(node) ? ids : removed).push_back(order.user(node)); };
  // Where nodes have copies, the row of a node changes with that of any of them.
  for (const NodeId node : batch.update.changed) put(node);
  for (const NodeChange& change : batch.changes.nodes)  // a node that loses its row need not be among the changed ones
    if ((change.cleared || change.label) && !embedding.is_target(change.node)) put(change.node);
  for (const NodeChange& change : batch.changes.nodes)
    if (change.loses_name) nameless.push_back(order.user(change.node));
  std::sort(nameless.begin(), nameless.end());
  for (std::vector<NodeId>* const list : {&ids, &removed}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  const std::uint64_t entry = entry_ + 1;
  export_embeddings(store_, ids, weights(), NpyTarget(file(entry, "rows")));
  add_ids("ids", ids, nameless);
  add_ids("removed", removed, nameless);
  add_line(false, ids.size(), removed.size());
}

void ChangeFeed::add_line(bool complete, std::uint64_t rows, std::uint64_t removed) {
  const nlohmann::ordered_json line{
      {"entry", entry_ + 1},
      {"sequence", store_.sequence()},
      {"complete", complete},
      {"rows", rows},
      {"removed", removed},
      {"columns", store_.embedding().row_width(weights()) * store_.contents().order().copies()}};
  AppendedLine(folder_ / kLines, text_of_json(line), Readers::all).sync();
  ++entry_;
  drop_taken();
}

void ChangeFeed::drop_taken() {
  std::uint64_t taken = std::numeric_limits<std::uint64_t>::max();
  bool any = false;
  for (const Entry& one : list_folder(folder_ / kReaders)) {
    any = true;
    taken = std::min(taken, taken_by(one.path).value_or(0));
  }
  taken = std::min(taken, entry_);
  if (!any || taken == dropped_) return;
  for (const Entry& one : list_folder(folder_))
    if (const std::optional<std::uint64_t> entry = entry_of(one.name()); entry && *entry <= taken) drop_entry(one.path);
  dropped_ = taken;
}

void ChangeFeed::seal() const {
  replace_file(folder_ / kState, state());
}

}  // namespace unweave

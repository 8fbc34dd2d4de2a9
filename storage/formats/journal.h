// storage/formats/journal.h - the durable log of requests that no checkpoint holds yet (FORMAT.md,
// "Journal").
//
// One record a batch, or several where many requests are acknowledged before they are applied. A
// record is durable when append() returns. An incomplete last record, of which any parts may be
// missing, is the trace of a crash before its acknowledgement: reading stops there, and the next
// writer cuts it off. Damage before the last record is an error, since acknowledged requests follow
// it, and so is whatever is missing of the bytes that a clean close put into the manifest
// (recorded_file.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/sealed_file.h"
#include "storage/io/file.h"
#include "storage/io/types.h"
#include "storage/types/file_entry.h"
#include "storage/types/request.h"

namespace unweave {

struct JournalBatch {
  double r_max = 0;
  ThresholdScale scale = ThresholdScale::absolute;
  std::vector<Request> requests;
  std::int64_t time = 0;  ///< when it became durable, in milliseconds since 1970, UTC; 0: nobody knows

  friend bool operator==(const JournalBatch&, const JournalBatch&) = default;
};

/// Whether a journal may hold these words of a request: they have no control characters of ASCII,
/// which part them there. One of an older program may hold words that are no plain text
/// (plain_text.h) and count as they stand there; append() takes none.
[[nodiscard]] bool is_journal_text(std::string_view text) noexcept;

class Journal {
 public:
  /// Makes a new empty journal `store`/journal/`name` that follows request `sequence`; durable on
  /// return.
  static Journal create(const std::filesystem::path& store, const std::string& name, std::uint64_t sequence);
  /// Opens for appending after the last whole record, cutting off an incomplete one. What is read
  /// is durable on return.
  static Journal open(const std::filesystem::path& store, const FileEntry& entry, std::uint64_t sequence);

  /// Returns when the batch is durable. After an error it is not in the journal, and the journal is
  /// of no further use. Throws UsageError for an id that is none (is_request_id()), and for a value
  /// that is no plain text.
  void append(const JournalBatch& batch);
  void append(double r_max, ThresholdScale scale, std::span<const Request> requests, std::int64_t time);
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }  ///< requests up to here are durable
  [[nodiscard]] std::uint64_t bytes() const noexcept { return end_; }
  /// All that is durable of it, for the manifest.
  [[nodiscard]] FileEntry entry() const;

 private:
  Journal(std::filesystem::path store, File file, std::uint64_t sequence, std::uint64_t end)
      : store_(std::move(store)), file_(std::move(file)), sequence_(sequence), end_(end) {}
  void take_back() noexcept;

  std::filesystem::path store_;
  File file_;
  std::uint64_t sequence_;
  std::uint64_t end_;
};

/// Bytes of a journal of so many requests, without words, in so many batches, with a time.
[[nodiscard]] std::uint64_t journal_bytes(std::uint64_t requests, std::uint64_t batches) noexcept;

/// How a journal's file ends.
struct JournalEnd {
  std::uint64_t bytes = 0;  ///< filled by header and whole records
  std::uint64_t tail = 0;   ///< bytes after them: an append that was interrupted
  bool damaged = false;     ///< nothing of the tail is missing, so it may be an acknowledged record, damaged later
  std::uint64_t last = 0;   ///< where the last whole record begins; `bytes` when there is none
};

/// A record as a whole, of which some requests are at hand.
struct RecordPart {
  std::uint64_t requests = 0;    ///< how many it has
  std::uint64_t text_bytes = 0;  ///< bytes of their words, roughly
  std::uint64_t sequence = 0;    ///< its last request
  std::uint64_t end = 0;         ///< where it ends in the file
  bool last = false;             ///< its last requests are at hand
};
using UseJournalPart = std::function<void(const JournalBatch&, const RecordPart&)>;

/// Calls `use` for every whole record after request `sequence`, in order. A record of more than
/// some thousand requests, or than a MiB of words, comes in several batches of its time and
/// threshold: it need not fit the memory. `entry`: what the manifest says of the journal.
/// Throws FormatError for a journal that is not the one of this sequence; RecordError for a damaged
/// record that is not the last, and where it does not begin with what was recorded.
JournalEnd read_journal(const std::filesystem::path& store, const FileEntry& entry, std::uint64_t sequence,
                        const std::function<void(const JournalBatch&)>& use);
/// The journal, to be read by what follows as often as wanted: it keeps its records when a purge
/// has removed its name. Throws RecordError where it is missing.
[[nodiscard]] File open_journal_file(const std::filesystem::path& store, const FileEntry& entry);
/// Likewise, of a journal that is open.
JournalEnd read_journal(const File& file, const std::filesystem::path& store, const FileEntry& entry,
                        std::uint64_t sequence, const std::function<void(const JournalBatch&)>& use);
/// Likewise, and tells of the record to which each batch belongs.
JournalEnd read_journal_parts(const File& file, const std::filesystem::path& store, const FileEntry& entry,
                              std::uint64_t sequence, const UseJournalPart& use);

/// Throws RecordError for a last record that may have been acknowledged and is damaged.
void require_whole_end(const std::filesystem::path& store, const FileEntry& entry, const JournalEnd& end);

/// What damage has taken from a journal.
struct JournalDamage {
  std::uint64_t bytes = 0;  ///< how many bytes header and whole records fill before it; 0: the header is gone
  std::uint64_t last = 0;   ///< last request of those records
  std::uint64_t later = 0;  ///< last request of the last whole record after it; 0: there is no such record
  std::string text;         ///< place and what is wrong, without file and remedy
};

/// Finds damage of records that were acknowledged, or may have been. Returns nothing where there is
/// only what a crash leaves of an append.
/// Throws DataError where the system refuses to read the journal, which tells nothing of what it
/// holds.
[[nodiscard]] std::optional<JournalDamage> find_journal_damage(const std::filesystem::path& store,
                                                               const FileEntry& entry, std::uint64_t sequence);

/// Writes a journal's header again, which follows from its name and the sequence; durable on
/// return. False where the file is shorter or its header is right.
[[nodiscard]] bool restore_journal_header(const std::filesystem::path& store, const FileEntry& entry,
                                          std::uint64_t sequence);

/// Cuts a journal off where it is damaged; durable on return. All later requests are gone. Returns
/// what the manifest has to say of it now.
[[nodiscard]] FileEntry cut_journal(const std::filesystem::path& store, const FileEntry& entry, std::uint64_t sequence,
                                    const JournalDamage& damage);

}  // namespace unweave

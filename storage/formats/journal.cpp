// storage/formats/journal.cpp - appends records to the journal, reads them back, and finds and cuts
// off damage.
#include "storage/formats/journal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "storage/formats/recorded_file.h"
#include "storage/formats/request_log.h"
#include "storage/io/checksum.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/plain_text.h"
#include "storage/io/private_file.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

constexpr char kFolder[] = "journal/";
constexpr char kJournalMagic[16] = {'U', 'N', 'W', 'E', 'A', 'V', 'E', '\0', 'j', 'o', 'u', 'r', 'n', 'a', 'l', ' '};
constexpr std::uint64_t kJournalVersion = 2;
constexpr std::uint64_t kMaxRecord = std::uint64_t{1} << 32;

struct FileHeader {
  char magic[16];
  std::uint64_t version;
  std::uint64_t sequence;
  std::uint64_t checksum;
};
static_assert(sizeof(FileHeader) == 40);

struct RecordHeader {
  std::uint64_t payload_bytes;
  std::uint64_t sequence;  ///< last request of this batch
  std::uint64_t checksum;  ///< covers the two fields above and the payload
};
static_assert(sizeof(RecordHeader) == 24);

struct PayloadHeader {
  double r_max;
  std::uint32_t scale;
  std::uint32_t text_bytes;  ///< how long the text behind the requests is
};
/// A text that holds a time alone: its 13 digits will do until the year 2286.
constexpr std::uint64_t kTimeBytes = 16;
constexpr std::uint64_t kMaxText = std::uint64_t{1} << 31;

/// A kind is not 0: no part of a record reads as zeros to its end, as what was never written does.
struct PackedRequest {
  std::uint64_t u;
  std::uint64_t v;
  /// With kUByName where u came as a name, and kVByName where v did; from bit 16 on the relation.
  std::uint64_t kind;
};
constexpr std::uint64_t kUByName = 0x100, kVByName = 0x200;
constexpr std::uint64_t kRelationBit = 16, kMostRelation = 0xFFFF;

template <class T>
std::span<const std::byte> raw(const T& value, std::size_t bytes = sizeof(T)) {
  return {reinterpret_cast<const std::byte*>(&value), bytes};
}

/// The name is part of it: the journal of another store is none of this one.
std::uint64_t header_checksum(const FileHeader& header, const std::string& name) {
  std::vector<std::byte> bytes(32 + name.size());
  std::memcpy(bytes.data(), &header, 32);
  std::memcpy(bytes.data() + 32, name.data(), name.size());
  return checksum64(bytes);
}

FileHeader header_of(const std::string& name, std::uint64_t sequence) {
  FileHeader header{};
  std::memcpy(header.magic, kJournalMagic, sizeof kJournalMagic);
  header.version = kJournalVersion;
  header.sequence = sequence;
  header.checksum = header_checksum(header, name);
  return header;
}

std::uint64_t record_checksum(const RecordHeader& header, std::span<const std::byte> payload) {
  const Checksum128 sum = checksum128(raw(header, 16), payload);
  std::uint64_t result = 0;
  std::memcpy(&result, sum.data(), sizeof result);
  return result;
}

/// What is read of a file at a time.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

/// Likewise where the payload lies at `at` of a file.
std::uint64_t record_checksum(const RecordHeader& header, const File& file, std::uint64_t at) {
  const std::uint64_t end = at + header.payload_bytes;
  std::vector<std::byte> bytes;
  bool begun = false;
  const Checksum128 sum = checksum128([&]() -> std::span<const std::byte> {
    if (!std::exchange(begun, true)) return raw(header, 16);
    bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, end - at)));
    file.read_at(at, bytes);
    at += bytes.size();
    return bytes;
  });
  std::uint64_t result = 0;
  std::memcpy(&result, sum.data(), sizeof result);
  return result;
}

/// Whether something from `offset` to the end of the file was not written; no part of a record
/// reads as zeros for long.
bool is_unwritten_in_part(const File& file, std::uint64_t offset, std::uint64_t size) {
  constexpr std::uint64_t kPiece = 128 * kSectorBytes;
  std::vector<std::byte> bytes;
  while (offset < size) {
    bytes.resize(static_cast<std::size_t>(std::min(kPiece - offset % kPiece, size - offset)));
    file.read_at(offset, bytes);
    if (has_unwritten_sector(bytes, offset)) return true;
    offset += bytes.size();
  }
  return false;
}

/// How many requests a payload holds beside its text; an absurd number where the lengths contradict
/// each other.
std::uint64_t requests_in(std::uint64_t payload_bytes, std::uint64_t text_bytes) {
  if (payload_bytes < sizeof(PayloadHeader) + text_bytes) return ~std::uint64_t{0};
  const std::uint64_t left = payload_bytes - sizeof(PayloadHeader) - text_bytes;
  return left % sizeof(PackedRequest) == 0 ? left / sizeof(PackedRequest) : ~std::uint64_t{0};
}

/// A length that a batch after request `last` can have.
bool is_plausible(const RecordHeader& record, std::uint64_t last) {
  return record.sequence >= last && record.payload_bytes <= kMaxRecord && record.payload_bytes % 8 == 0 &&
         record.sequence - last <= kMaxRecord / sizeof(PackedRequest) &&
         record.payload_bytes >= sizeof(PayloadHeader) + (record.sequence - last) * sizeof(PackedRequest);
}

enum class Later { first, last };

/// The last request of the first, or of the last, whole record after `offset` and request `last`; 0
/// without one. What is wrong before it was acknowledged. To be found, it need not be where it
/// should; a hostile file cannot make this long.
std::uint64_t later_record(const File& file, std::uint64_t offset, std::uint64_t size, std::uint64_t last,
                           Later which) {
  std::uint64_t left_to_sum = 4 * size;
  std::uint64_t found = 0;
  std::vector<std::byte> bytes;
  const std::uint64_t overlap = sizeof(RecordHeader) - 8;  // records lie at multiples of 8 bytes
  for (std::uint64_t begin = offset; begin + sizeof(RecordHeader) <= size;) {
    bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(size - begin, 1 << 20) / 8 * 8));
    file.read_at(begin, bytes);
    std::uint64_t at = 0;
    while (at + sizeof(RecordHeader) <= bytes.size()) {
      RecordHeader record{};
      std::memcpy(&record, bytes.data() + at, sizeof record);
      const std::uint64_t payload_at = begin + at + sizeof record;
      at += 8;
      if (record.payload_bytes > size - payload_at || record.payload_bytes < sizeof(PayloadHeader)) continue;
      if (record.payload_bytes % 8 != 0 || record.payload_bytes > kMaxRecord) continue;
      PayloadHeader head{};
      file.read_at(payload_at, std::as_writable_bytes(std::span(&head, 1)));
      const std::uint64_t requests = requests_in(record.payload_bytes, head.text_bytes);
      if (record.sequence < requests || record.sequence - requests < last) continue;
      if (!is_plausible(record, record.sequence - requests)) continue;
      if (record.payload_bytes > left_to_sum) return record.sequence;  // it looks like a hundred records at once
      left_to_sum -= record.payload_bytes;
      if (record.checksum != record_checksum(record, file, payload_at)) continue;
      if (which == Later::first) return record.sequence;
      found = last = record.sequence;
      at = payload_at + record.payload_bytes - begin;  // past what was read, for a long one
    }
    if (begin + bytes.size() + 8 > size) break;
    begin += std::max(at, bytes.size() - overlap);
  }
  return found;
}

/// How long time and words of a batch are, without what fills the last eight bytes: a line each,
/// empty where there is none. No byte of it is 0, as no part of a record may read as zeros to its
/// end.
std::uint64_t text_size(std::span<const Request> requests, std::string_view time, bool words) {
  if (time.empty()) return 0;
  std::uint64_t bytes = time.size() + 1;
  if (words)
    for (const Request& request : requests) bytes += request.id.size() + request.value.size() + 2;
  return bytes;
}

bool is_kind(std::uint64_t kind) noexcept {
  return kind >= 1 && kind <= static_cast<std::uint64_t>(kLastRequestKind);
}

bool is_mode(double r_max, std::uint64_t scale) noexcept {
  return scale <= 2 && r_max >= 0 && std::isfinite(r_max);
}

/// Bytes of a part of a file, some of them in memory.
class Cursor {
 public:
  /// `held`: all of them, where somebody has them in memory.
  Cursor(const File& file, std::uint64_t begin, std::uint64_t end, std::span<const std::byte> held)
      : file_(file), at_(held.empty() ? begin : end), end_(end), window_(held) {}
  /// Bytes that are left.
  [[nodiscard]] std::uint64_t left() const noexcept { return window_.size() + end_ - at_; }
  /// The next ones, at least so many of those that are left; valid until the next call.
  std::span<const std::byte> peek(std::uint64_t least) {
    if (window_.size() >= least || at_ == end_) return window_;
    const std::size_t have = window_.size();
    if (have > 0) std::memmove(buffer_.data(), window_.data(), have);
    const std::uint64_t more = std::min(std::max<std::uint64_t>(least - have, kPieceBytes), end_ - at_);
    buffer_.resize(have + static_cast<std::size_t>(more));
    file_.read_at(at_, std::span(buffer_).subspan(have));
    at_ += more;
    return window_ = buffer_;
  }
  void skip(std::size_t bytes) noexcept { window_ = window_.subspan(bytes); }
  /// Takes a line; nothing without its end. Valid until the next call.
  std::optional<std::string_view> take_line() {
    for (std::uint64_t least = 1, seen = 0;; least = 2 * seen) {
      const std::span<const std::byte> bytes = peek(least);
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (const std::size_t end = text.find('\n', static_cast<std::size_t>(seen)); end != std::string_view::npos) {
        skip(end + 1);
        return text.substr(0, end);
      }
      if (at_ == end_) return std::nullopt;
      seen = text.size();
    }
  }
  /// Whether what is left are a few ends of lines, which fill the last eight bytes.
  [[nodiscard]] bool only_fills() {
    const std::span<const std::byte> bytes = peek(8);
    return left() < 8 &&
           std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{'\n'}; });
  }

 private:
  const File& file_;
  std::uint64_t at_, end_;  ///< what is not in the window
  std::vector<std::byte> buffer_;
  std::span<const std::byte> window_;
};

bool decode_time(Cursor& text, std::int64_t& time) {
  time = 0;
  if (text.left() == 0) return true;
  const std::optional<std::string_view> line = text.take_line();
  if (!line) return false;
  const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), time);
  return error == std::errc() && end == line->data() + line->size();
}

bool decode_words(Cursor& text, Request& request) {
  const std::optional<std::string_view> line = text.take_line();
  if (!line) return false;
  const std::size_t tab = line->find('\t');
  if (tab == std::string_view::npos) return false;
  request.id = line->substr(0, tab);
  request.value = line->substr(tab + 1);
  return is_journal_text(request.id) && is_journal_text(request.value);
}

/// A part of a record has so many requests at most, and ends where its words have come to so many
/// bytes.
constexpr std::size_t kPartRequests = 4096;
constexpr std::uint64_t kPartText = std::uint64_t{1} << 20;

/// Gives the requests of a record whose payload lies at `at`, and in `held` where it is short, in
/// parts to `use`. False where its contents contradict its header.
bool decode(const File& file, std::uint64_t at, const RecordHeader& record, std::span<const std::byte> held,
            std::uint64_t requests, const UseJournalPart& use) {
  PayloadHeader head{};
  if (record.payload_bytes < sizeof head) return false;
  file.read_at(at, std::as_writable_bytes(std::span(&head, 1)));
  if (requests_in(record.payload_bytes, head.text_bytes) != requests || !is_mode(head.r_max, head.scale)) return false;
  const std::uint64_t end = at + record.payload_bytes, text_at = end - head.text_bytes;
  const auto part_of_held = [&](std::uint64_t from, std::uint64_t to) {
    return held.empty() ? held : held.subspan(static_cast<std::size_t>(from - at), static_cast<std::size_t>(to - from));
  };
  Cursor packed(file, at + sizeof head, text_at, part_of_held(at + sizeof head, text_at));
  Cursor text(file, text_at, end, part_of_held(text_at, end));
  JournalBatch batch{head.r_max, static_cast<ThresholdScale>(head.scale), {}, 0};
  if (!decode_time(text, batch.time)) return false;
  const bool words = !text.only_fills();
  RecordPart part{requests, text.left(), record.sequence, end, false};
  std::uint64_t part_text = 0;
  for (std::uint64_t i = 0; i < requests; ++i) {
    PackedRequest one{};
    std::memcpy(&one, packed.peek(sizeof one).data(), sizeof one);
    packed.skip(sizeof one);
    const std::uint64_t relation = one.kind >> kRelationBit;
    const std::uint64_t kind = one.kind & ((1U << kRelationBit) - 1) & ~(kUByName | kVByName);
    if (!is_kind(kind) || relation > kMostRelation) return false;
    Request& request = batch.requests.emplace_back();
    request.kind = static_cast<RequestKind>(kind);
    request.u = one.u;
    request.v = one.v;
    request.u_by_name = (one.kind & kUByName) != 0;
    request.v_by_name = (one.kind & kVByName) != 0;
    request.relation = static_cast<std::uint32_t>(relation);
    if (words && !decode_words(text, request)) return false;
    part_text += request.id.size() + request.value.size();
    if (i + 1 == requests || (batch.requests.size() < kPartRequests && part_text < kPartText)) continue;
    use(batch, part);
    batch.requests.clear();
    part_text = 0;
  }
  if (!text.only_fills()) return false;
  part.last = true;
  use(batch, part);
  return true;
}

}  // namespace

bool is_journal_text(std::string_view text) noexcept {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

Journal Journal::create(const std::filesystem::path& store, const std::string& name, std::uint64_t sequence) {
  const std::filesystem::path path = store / (kFolder + name);
  make_folders(path.parent_path());
  drop_entry(path);
  File file = create_private(path);
  const FileHeader header = header_of(name, sequence);
  file.write_at(0, raw(header));
  file.sync();
  sync_directory(path.parent_path());
  sync_directory(store);
  return {store, std::move(file), sequence, sizeof header};
}

Journal Journal::open(const std::filesystem::path& store, const FileEntry& entry, std::uint64_t sequence) {
  std::uint64_t last = sequence;
  const JournalEnd end =
      read_journal(store, entry, sequence, [&](const JournalBatch& batch) { last += batch.requests.size(); });
  File file = File::open_own(store / entry.path);
  make_private(file);
  // The last record may never have been synced, and after a sync that failed no other one would
  // write it: the system takes its pages for written. So it is written again.
  std::vector<std::byte> bytes;
  for (std::uint64_t at = end.last; at < end.bytes; at += bytes.size()) {
    bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, end.bytes - at)));
    file.read_at(at, bytes);
    file.write_at(at, bytes);
  }
  file.truncate(end.bytes);
  file.sync();
  return {store, std::move(file), last, end.bytes};
}

FileEntry Journal::entry() const {
  return record_file(store_, kFolder + file_.path().filename().string(), end_);
}

void Journal::append(const JournalBatch& batch) {
  append(batch.r_max, batch.scale, batch.requests, batch.time);
}

void Journal::append(double r_max, ThresholdScale scale, std::span<const Request> requests, std::int64_t when) {
  // What nobody could read again must not be acknowledged.
  const auto unknown = [](const Request& request) {
    return !is_kind(static_cast<std::uint64_t>(request.kind)) || text_fault(request.value) ||
           (!request.id.empty() && !is_request_id(request.id));
  };
  if (!is_mode(r_max, static_cast<std::uint64_t>(scale)) || std::any_of(requests.begin(), requests.end(), unknown))
    throw UsageError("a batch with a kind of request, a threshold or a character that there is not");
  const bool words = std::any_of(requests.begin(), requests.end(),
                                 [](const Request& one) { return !one.id.empty() || !one.value.empty(); });
  const std::string time = words || when != 0 ? std::to_string(when) : "";
  const std::uint64_t text = (text_size(requests, time, words) + 7) / 8 * 8;
  if (text > kMaxText) throw UsageError("a batch of more than 2 GiB of words; choose a smaller " + option("batch"));
  RecordHeader header{sizeof(PayloadHeader) + requests.size() * sizeof(PackedRequest) + text,
                      sequence_ + requests.size(), 0};
  if (header.payload_bytes > kMaxRecord)
    throw UsageError("a batch of more than 4 GiB of requests; choose a smaller " + option("batch"));
  std::string record;  // once, since its words may be most of what there is in memory
  record.reserve(static_cast<std::size_t>(sizeof header + header.payload_bytes));
  const auto put = [&](const auto& value) { record.append(reinterpret_cast<const char*>(&value), sizeof value); };
  put(header);
  put(PayloadHeader{r_max, static_cast<std::uint32_t>(scale), static_cast<std::uint32_t>(text)});
  for (const Request& request : requests)
    put(PackedRequest{request.u, request.v,
                      static_cast<std::uint64_t>(request.kind) | (request.u_by_name ? kUByName : 0) |
                          (request.v_by_name ? kVByName : 0) | std::uint64_t{request.relation} << kRelationBit});
  if (!time.empty()) record.append(time) += '\n';
  if (words)
    for (const Request& request : requests) record.append(request.id).append(1, '\t').append(request.value) += '\n';
  record.resize(static_cast<std::size_t>(sizeof header + header.payload_bytes), '\n');
  const std::span<const std::byte> bytes = std::as_bytes(std::span(record));
  header.checksum = record_checksum(header, bytes.subspan(sizeof header));
  std::memcpy(record.data(), &header, sizeof header);
  try {
    file_.write_at(end_, bytes);
    file_.sync();
  } catch (...) {
    take_back();
    throw;
  }
  end_ += record.size();
  sequence_ = header.sequence;
}

void Journal::take_back() noexcept {
  // What failed to be synced can be read, but may never come to the disk: nobody must find it there
  // and rely on it.
  try {
    file_.truncate(end_);
  } catch (const std::exception&) {
  }
}

std::uint64_t journal_bytes(std::uint64_t requests, std::uint64_t batches) noexcept {
  return sizeof(FileHeader) + batches * (sizeof(RecordHeader) + sizeof(PayloadHeader) + kTimeBytes) +
         requests * sizeof(PackedRequest);
}

namespace {

std::string remedy_of(const std::filesystem::path& store) {
  return "give up what is missing with " +
         operation("repair " + shell_word(store.string()) + ' ' + option("cut-journal"));
}

/// Reads the records of the file as it is, without what the manifest recorded of it.
JournalEnd read_records(const File& file, const std::filesystem::path& store, const FileEntry& entry,
                        std::uint64_t sequence, const UseJournalPart& use) {
  const std::filesystem::path path = store / entry.path;
  const std::uint64_t size = file.size();
  FileHeader header{};
  if (size < sizeof header)
    throw FormatError(path, "byte " + std::to_string(size), "the journal's header is cut short");
  file.read_at(0, std::as_writable_bytes(std::span(&header, 1)));
  if (std::memcmp(header.magic, kJournalMagic, sizeof kJournalMagic) != 0)
    throw FormatError(path, "byte 0", "not a journal");
  if (header.version != kJournalVersion || header.checksum != header_checksum(header, path.filename().string()))
    throw FormatError(path, "byte 16", "the journal's header is damaged, of another version or of another store");
  if (header.sequence != sequence)
    throw FormatError(path, "byte 24",
                      "the journal follows request " + std::to_string(header.sequence) + ", the manifest ends at " +
                          std::to_string(sequence));
  std::uint64_t at = sizeof header;
  std::uint64_t begin = at;  // where the last whole record begins
  std::uint64_t last = sequence;
  std::vector<std::byte> payload;  // a short one; a long one is never in memory as a whole
  const auto fail = [&](const std::string& what) {
    throw RecordError(path, "byte " + std::to_string(at) + ": " + what, remedy_of(store));
  };
  while (size - at >= sizeof(RecordHeader)) {
    RecordHeader record{};
    file.read_at(at, std::as_writable_bytes(std::span(&record, 1)));
    const std::uint64_t left = size - at - sizeof record;
    bool whole = is_plausible(record, last) && record.payload_bytes <= left;
    if (whole) {
      payload.resize(record.payload_bytes <= kPieceBytes ? static_cast<std::size_t>(record.payload_bytes) : 0);
      if (!payload.empty()) file.read_at(at + sizeof record, payload);
      whole = record.checksum ==
              (payload.empty() ? record_checksum(record, file, at + sizeof record) : record_checksum(record, payload));
    }
    if (!whole) {
      // One append at most was under way when the power failed, and any part of it may be on the
      // disk.
      if (later_record(file, at + 8, size, last, Later::first) > 0) fail("a record is damaged");
      PayloadHeader head{};
      const bool has_head = left >= sizeof head;
      if (has_head) file.read_at(at + sizeof record, std::as_writable_bytes(std::span(&head, 1)));
      // A length that says too much is damage, where what follows says another one.
      const bool cut_short =
          is_plausible(record, last) && record.payload_bytes > left &&
          (!has_head || requests_in(record.payload_bytes, head.text_bytes) == record.sequence - last);
      return {at, size - at, !cut_short && !is_unwritten_in_part(file, at, size), begin};
    }
    if (!decode(file, at + sizeof record, record, payload, record.sequence - last, use))
      fail("a record's contents contradict its header");
    last = record.sequence;
    begin = at;
    at += sizeof record + record.payload_bytes;
  }
  return {at, size - at, false, begin};
}

/// Throws RecordError unless whole records, which fill `bytes`, begin as was recorded.
void check_records(const File& file, const std::filesystem::path& store, const FileEntry& entry, std::uint64_t bytes) {
  require_as_recorded(file, store, entry, remedy_of(store));
  if (bytes < entry.bytes)
    throw RecordError(store / entry.path, "byte " + std::to_string(bytes) + ": an acknowledged record is damaged",
                      remedy_of(store));
}

}  // namespace

JournalEnd read_journal(const std::filesystem::path& store, const FileEntry& entry, std::uint64_t sequence,
                        const std::function<void(const JournalBatch&)>& use) {
  return read_journal(open_journal_file(store, entry), store, entry, sequence, use);
}

File open_journal_file(const std::filesystem::path& store, const FileEntry& entry) {
  return open_recorded(store, entry, remedy_of(store));
}

JournalEnd read_journal(const File& file, const std::filesystem::path& store, const FileEntry& entry,
                        std::uint64_t sequence, const std::function<void(const JournalBatch&)>& use) {
  return read_journal_parts(file, store, entry, sequence,
                            [&](const JournalBatch& batch, const RecordPart&) { use(batch); });
}

JournalEnd read_journal_parts(const File& file, const std::filesystem::path& store, const FileEntry& entry,
                              std::uint64_t sequence, const UseJournalPart& use) {
  // What is missing is told before anything is used; otherwise the records tell more of the place.
  if (file.size() < entry.bytes) require_as_recorded(file, store, entry, remedy_of(store));
  const JournalEnd end = read_records(file, store, entry, sequence, use);
  check_records(file, store, entry, end.bytes);
  return end;
}

void require_whole_end(const std::filesystem::path& store, const FileEntry& entry, const JournalEnd& end) {
  if (end.damaged)
    throw RecordError(store / entry.path, "byte " + std::to_string(end.bytes) + ": the last record is damaged",
                      remedy_of(store));
}

std::optional<JournalDamage> find_journal_damage(const std::filesystem::path& store, const FileEntry& entry,
                                                 std::uint64_t sequence) {
  const std::filesystem::path path = store / entry.path;
  JournalDamage damage{sizeof(FileHeader), sequence, 0, {}};
  if (!has_entry(path)) return JournalDamage{0, sequence, 0, "it is missing"};
  const File file = File::open_stored(path);
  try {
    const JournalEnd end = read_records(file, store, entry, sequence, [&](const JournalBatch&, const RecordPart& part) {
      if (!part.last) return;
      damage.last = part.sequence;
      damage.bytes = part.end;
    });
    check_records(file, store, entry, end.bytes);
    require_whole_end(store, entry, end);
    return std::nullopt;
  } catch (const FormatError& found) {
    damage.text = found.fault;
  } catch (const RecordError& found) {
    damage.text = found.fault;
  }
  FileHeader header{};
  if (file.size() >= sizeof header) file.read_at(0, std::as_writable_bytes(std::span(&header, 1)));
  if (header.checksum != header_checksum(header, path.filename().string()) || header.sequence != sequence)
    damage.bytes = 0;
  else if (damage.bytes >= entry.bytes &&
           !begins_as_recorded(file, entry))  // whole records, but not those of this store
    damage = {sizeof header, sequence, 0, damage.text};
  const std::uint64_t later = later_record(file, damage.bytes + 8, file.size(), damage.last, Later::last);
  if (later > damage.last) damage.later = later;
  return damage;
}

bool restore_journal_header(const std::filesystem::path& store, const FileEntry& entry, std::uint64_t sequence) {
  const std::filesystem::path path = store / entry.path;
  if (!has_entry(path)) return false;
  const FileHeader right = header_of(path.filename().string(), sequence);
  FileHeader found{};
  {
    const File file = File::open_stored(path);
    if (file.size() < sizeof found) return false;
    file.read_at(0, std::as_writable_bytes(std::span(&found, 1)));
  }
  if (std::memcmp(&found, &right, sizeof right) == 0) return false;
  const File file = File::open_own(path);
  file.write_at(0, raw(right));
  file.sync();
  return true;
}

FileEntry cut_journal(const std::filesystem::path& store, const FileEntry& entry, std::uint64_t sequence,
                      const JournalDamage& damage) {
  const std::filesystem::path path = store / entry.path;
  if (damage.bytes == 0) return Journal::create(store, path.filename().string(), sequence).entry();
  const File file = File::open_own(path);
  make_private(file);
  file.truncate(damage.bytes);
  file.sync();
  return record_file(store, entry.path, damage.bytes);
}

}  // namespace unweave

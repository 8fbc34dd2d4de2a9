// storage/formats/journal.cpp - appends records to the journal, reads them back, and finds and cuts off damage.
#include "storage/formats/journal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "storage/formats/recorded_file.h"
#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/private_file.h"

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
  std::uint64_t kind;
};

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

/// Whether something from `offset` to the end of the file was not written; no part of a record reads as zeros for long.
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

/// How many requests a payload holds beside its text; an absurd number where the lengths contradict each other.
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

/// The last request of the first, or of the last, whole record after `offset` and request `last`; 0 without one. What is
/// wrong before it was acknowledged. To be found, it need not be where it should; a hostile file cannot make this long.
std::uint64_t later_record(const File& file, std::uint64_t offset, std::uint64_t size, std::uint64_t last,
                           Later which) {
  std::uint64_t left_to_sum = 4 * size;
  std::uint64_t found = 0;
  std::vector<std::byte> payload;
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
      payload.resize(record.payload_bytes);
      file.read_at(payload_at, payload);
      if (record.checksum != record_checksum(record, payload)) continue;
      if (which == Later::first) return record.sequence;
      found = last = record.sequence;
      at = payload_at + payload.size() - begin;  // past what was read, for a long one
    }
    if (begin + bytes.size() + 8 > size) break;
    begin += std::max(at, bytes.size() - overlap);
  }
  return found;
}

/// Time and words of a batch: a line each, empty where there is none. No byte of it is 0, as no part of a record may
/// read as zeros to its end.
std::string text_of(const JournalBatch& batch) {
  const bool words = std::any_of(batch.requests.begin(), batch.requests.end(),
                                 [](const Request& one) { return !one.id.empty() || !one.value.empty(); });
  if (!words && batch.time == 0) return {};
  std::string text = std::to_string(batch.time) + '\n';
  if (words)
    for (const Request& request : batch.requests) text.append(request.id).append(1, '\t').append(request.value) += '\n';
  text.append((8 - text.size() % 8) % 8, '\n');
  return text;
}

std::vector<std::byte> encode(const JournalBatch& batch, std::string_view text) {
  std::vector<std::byte> payload(sizeof(PayloadHeader) + batch.requests.size() * sizeof(PackedRequest) + text.size());
  const PayloadHeader head{batch.r_max, static_cast<std::uint32_t>(batch.scale),
                           static_cast<std::uint32_t>(text.size())};
  std::memcpy(payload.data(), &head, sizeof head);
  std::byte* out = payload.data() + sizeof head;
  for (const Request& request : batch.requests) {
    const PackedRequest packed{request.u, request.v, static_cast<std::uint64_t>(request.kind)};
    std::memcpy(out, &packed, sizeof packed);
    out += sizeof packed;
  }
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  return payload;
}

bool is_kind(std::uint64_t kind) noexcept {
  return kind >= 1 && kind <= 10;
}

bool is_mode(double r_max, std::uint64_t scale) noexcept {
  return scale <= 2 && r_max >= 0 && std::isfinite(r_max);
}

/// Cuts a line off the text; nothing without its end.
std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

bool decode_text(std::string_view text, JournalBatch& batch) {
  batch.time = 0;
  if (text.empty()) return true;
  const std::optional<std::string_view> time = take_line(text);
  if (!time) return false;
  const auto [end, error] = std::from_chars(time->data(), time->data() + time->size(), batch.time);
  if (error != std::errc() || end != time->data() + time->size() || batch.time < 0) return false;
  if (text.find_first_not_of('\n') == std::string_view::npos) return text.size() < 8;
  for (Request& request : batch.requests) {
    const std::optional<std::string_view> line = take_line(text);
    if (!line) return false;
    const std::size_t tab = line->find('\t');
    if (tab == std::string_view::npos) return false;
    request.id = line->substr(0, tab);
    request.value = line->substr(tab + 1);
    if (!is_journal_text(request.id) || !is_journal_text(request.value)) return false;
  }
  return text.size() < 8 && text.find_first_not_of('\n') == std::string_view::npos;
}

bool decode(std::span<const std::byte> payload, JournalBatch& batch) {
  PayloadHeader head{};
  if (payload.size() < sizeof head) return false;
  std::memcpy(&head, payload.data(), sizeof head);
  const std::uint64_t requests = requests_in(payload.size(), head.text_bytes);
  if (requests == ~std::uint64_t{0} || !is_mode(head.r_max, head.scale)) return false;
  batch.r_max = head.r_max;
  batch.scale = static_cast<ThresholdScale>(head.scale);
  batch.requests.clear();
  std::size_t at = sizeof head;
  for (std::uint64_t i = 0; i < requests; ++i, at += sizeof(PackedRequest)) {
    PackedRequest packed{};
    std::memcpy(&packed, payload.data() + at, sizeof packed);
    if (!is_kind(packed.kind)) return false;
    batch.requests.push_back({static_cast<RequestKind>(packed.kind), packed.u, packed.v});
  }
  return decode_text({reinterpret_cast<const char*>(payload.data() + at), payload.size() - at}, batch);
}

}  // namespace

std::uint64_t text_bytes(std::span<const Request> requests) noexcept {
  std::uint64_t bytes = 0;
  for (const Request& request : requests) bytes += request.value.size();
  return bytes;
}

bool is_journal_text(std::string_view text) noexcept {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

Journal Journal::create(const std::filesystem::path& store, const std::string& name, std::uint64_t sequence) {
  const std::filesystem::path path = store / (kFolder + name);
  make_folders(path.parent_path());
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
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
  File file = File::open_write(store / entry.path);
  make_private(file);
  // The last record may never have been synced, and after a sync that failed no other one would write it: the system takes
  // its pages for written. So it is written again.
  std::vector<std::byte> record(end.bytes - end.last);
  file.read_at(end.last, record);
  file.write_at(end.last, record);
  file.truncate(end.bytes);
  file.sync();
  return {store, std::move(file), last, end.bytes};
}

FileEntry Journal::entry() const {
  return record_file(store_, kFolder + file_.path().filename().string(), end_);
}

void Journal::append(const JournalBatch& batch) {
  const std::string text = text_of(batch);
  if (text.size() > kMaxText)
    throw UsageError("a batch of more than 2 GiB of words; choose a smaller " + option("batch"));
  const std::vector<std::byte> payload = encode(batch, text);
  // What nobody could read again must not be acknowledged.
  const auto unknown = [](const Request& request) {
    return !is_kind(static_cast<std::uint64_t>(request.kind)) || !is_journal_text(request.id) ||
           !is_journal_text(request.value);
  };
  if (!is_mode(batch.r_max, static_cast<std::uint64_t>(batch.scale)) ||
      std::any_of(batch.requests.begin(), batch.requests.end(), unknown))
    throw UsageError("a batch with a kind of request, a threshold or a character that there is not");
  if (payload.size() > kMaxRecord)
    throw UsageError("a batch of more than 4 GiB of requests; choose a smaller " + option("batch"));
  RecordHeader header{payload.size(), sequence_ + batch.requests.size(), 0};
  header.checksum = record_checksum(header, payload);
  std::vector<std::byte> record(sizeof header + payload.size());
  std::memcpy(record.data(), &header, sizeof header);
  std::memcpy(record.data() + sizeof header, payload.data(), payload.size());
  try {
    file_.write_at(end_, record);
    file_.sync();
  } catch (...) {
    take_back();
    throw;
  }
  end_ += record.size();
  sequence_ = header.sequence;
}

void Journal::take_back() noexcept {
  // What failed to be synced can be read, but may never come to the disk: nobody must find it there and rely on it.
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
  return "give up what is missing with " + operation("repair " + store.string() + ' ' + option("cut-journal"));
}

/// Reads the records of the file as it is, without what the manifest recorded of it.
JournalEnd read_records(const std::filesystem::path& store, const FileEntry& entry, std::uint64_t sequence,
                        const std::function<void(const JournalBatch&)>& use) {
  const std::filesystem::path path = store / entry.path;
  const File file = File::open_own(path);
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
  std::vector<std::byte> payload;
  JournalBatch batch;
  const auto fail = [&](const std::string& what) {
    throw RecordError(path, "byte " + std::to_string(at) + ": " + what, remedy_of(store));
  };
  while (size - at >= sizeof(RecordHeader)) {
    RecordHeader record{};
    file.read_at(at, std::as_writable_bytes(std::span(&record, 1)));
    const std::uint64_t left = size - at - sizeof record;
    bool whole = is_plausible(record, last) && record.payload_bytes <= left;
    if (whole) {
      payload.resize(record.payload_bytes);
      file.read_at(at + sizeof record, payload);
      whole = record.checksum == record_checksum(record, payload);
    }
    if (!whole) {
      // One append at most was under way when the power failed, and any part of it may be on the disk.
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
    if (!decode(payload, batch) || batch.requests.size() != record.sequence - last)
      fail("a record's contents contradict its header");
    use(batch);
    last = record.sequence;
    begin = at;
    at += sizeof record + payload.size();
  }
  return {at, size - at, false, begin};
}

/// Throws RecordError unless whole records, which fill `bytes`, begin as was recorded.
void check_records(const std::filesystem::path& store, const FileEntry& entry, std::uint64_t bytes) {
  require_as_recorded(store, entry, remedy_of(store));
  if (bytes < entry.bytes)
    throw RecordError(store / entry.path, "byte " + std::to_string(bytes) + ": an acknowledged record is damaged",
                      remedy_of(store));
}

}  // namespace

JournalEnd read_journal(const std::filesystem::path& store, const FileEntry& entry, std::uint64_t sequence,
                        const std::function<void(const JournalBatch&)>& use) {
  const std::filesystem::path path = store / entry.path;
  // What is missing is told before anything is used; otherwise the records tell more of the place.
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored) || File::open_own(path).size() < entry.bytes)
    require_as_recorded(store, entry, remedy_of(store));
  const JournalEnd end = read_records(store, entry, sequence, use);
  check_records(store, entry, end.bytes);
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
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return JournalDamage{0, sequence, 0, "it is missing"};
  try {
    const JournalEnd end = read_records(store, entry, sequence, [&](const JournalBatch& batch) {
      damage.last += batch.requests.size();
      damage.bytes += sizeof(RecordHeader) + sizeof(PayloadHeader) + batch.requests.size() * sizeof(PackedRequest) +
                      text_of(batch).size();
    });
    check_records(store, entry, end.bytes);
    require_whole_end(store, entry, end);
    return std::nullopt;
  } catch (const FormatError& found) {
    damage.text = found.fault;
  } catch (const RecordError& found) {
    damage.text = found.fault;
  }
  const File file = File::open_own(path);
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
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return false;
  const FileHeader right = header_of(path.filename().string(), sequence);
  FileHeader found{};
  {
    const File file = File::open_own(path);
    if (file.size() < sizeof found) return false;
    file.read_at(0, std::as_writable_bytes(std::span(&found, 1)));
  }
  if (std::memcmp(&found, &right, sizeof right) == 0) return false;
  const File file = File::open_write(path);
  file.write_at(0, raw(right));
  file.sync();
  return true;
}

FileEntry cut_journal(const std::filesystem::path& store, const FileEntry& entry, std::uint64_t sequence,
                      const JournalDamage& damage) {
  const std::filesystem::path path = store / entry.path;
  if (damage.bytes == 0) return Journal::create(store, path.filename().string(), sequence).entry();
  const File file = File::open_write(path);
  make_private(file);
  file.truncate(damage.bytes);
  file.sync();
  return record_file(store, entry.path, damage.bytes);
}

}  // namespace unweave

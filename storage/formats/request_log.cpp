// storage/formats/request_log.cpp - lines with a checksum each.
#include "storage/formats/request_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "storage/io/checksum.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/line_log.h"
#include "storage/io/plain_text.h"
#include "storage/io/private_file.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

/// A line without mark and earlier request has six fields, as those of older programs.
constexpr std::size_t kLeastFields = 6, kFields = 8;
/// The kind of a line that is no request: its mark is the key of the marks behind it.
constexpr std::string_view kKeyLine = "key";
constexpr std::string_view kDamagedLine = "damaged";
constexpr std::size_t kPieceBytes = 1 << 20;

/// The checksum of a line's other fields, 16 hexadecimal digits.
std::string sum_of(std::string_view fields) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::uint64_t sum = checksum64(std::as_bytes(std::span(fields)));
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, sum >>= 4) *digit = kDigits[sum & 15];
  return text;
}

std::string text_of(const LoggedRequest& request) {
  std::string text = std::to_string(request.sequence) + '\t' + std::to_string(request.time) + '\t';
  text.append(request.kind).append(1, '\t').append(request.status).append(1, '\t').append(request.id) += '\t';
  if (!request.mark.empty() || request.earlier > 0)
    text.append(request.mark).append(1, '\t').append(std::to_string(request.earlier)) += '\t';
  return text + sum_of(text) + '\n';
}

template <class Number>
bool read_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// Whether a log may hold it.
bool is_stored_id(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMostIdBytes && std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == ',' || c == 0x7F;
  });
}

bool is_digits(std::string_view text, std::size_t count) noexcept {
  return text.size() == count &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_mark(const LoggedRequest& request) noexcept {
  if (request.kind == kKeyLine) return is_digits(request.mark, kMarkKeyDigits);
  return request.mark.empty() || request.mark == kExpiredMark || is_digits(request.mark, kMarkDigits);
}

std::optional<LoggedRequest> read_line(std::string_view line) {
  std::array<std::string_view, kFields> fields;
  std::size_t count = 0;
  for (std::string_view rest = line;; ++count) {
    if (count == kFields) return std::nullopt;
    const std::size_t tab = rest.find('\t');
    fields[count] = rest.substr(0, tab);
    if (tab == std::string_view::npos) break;
    rest.remove_prefix(tab + 1);
  }
  if (++count != kLeastFields && count != kFields) return std::nullopt;
  const std::string_view sum = fields[count - 1];
  if (sum != sum_of(line.substr(0, line.size() - sum.size()))) return std::nullopt;
  LoggedRequest request{0, 0, fields[2], fields[3], fields[4]};
  if (!read_number(fields[0], request.sequence) || !read_number(fields[1], request.time)) return std::nullopt;
  if (count == kFields) {
    request.mark = fields[5];
    if (!read_number(fields[6], request.earlier)) return std::nullopt;
  }
  if (!is_mark(request)) return std::nullopt;
  if (request.kind != kPurgeLine && request.kind != kKeyLine && !is_stored_id(request.id)) return std::nullopt;
  return request;
}

LoggedRequest key_line(std::string_view key) {
  return {0, 0, kKeyLine, "", "", key};
}

}  // namespace

bool is_request_id(std::string_view text) noexcept {
  return is_stored_id(text) && !text_fault(text);
}

std::uint64_t read_request_log(const fs::path& store, const FileEntry* recorded,
                               const std::function<void(const LoggedRequest&)>& use,
                               const std::function<void(std::string_view key)>& use_key) {
  const fs::path file = store / kRequestLog;
  std::uint64_t at = 0, whole = 0, damaged_line = 0, trusted = recorded != nullptr ? recorded->bytes : 0;
  const LogEnd end = read_lines(file, [&](std::string_view line, std::uint64_t number) {
    const std::optional<LoggedRequest> request = read_line(line);
    at += line.size() + 1;
    if (!request) {
      if (damaged_line == 0) damaged_line = number;
      return;
    }
    // A purge syncs the log: all before it was durable.
    if (request->kind == kPurgeLine) trusted = std::max(trusted, at);
    if (damaged_line > 0) return;
    if (request->kind != kKeyLine)
      use(*request);
    else if (use_key)
      use_key(request->mark);
    whole = at;
  });
  if (whole >= trusted) return whole;
  const std::string place =
      damaged_line > 0 ? "line " + std::to_string(damaged_line) : "byte " + std::to_string(end.bytes);
  throw RecordError(file, place + ": damaged or cut short: ids of requests are missing",
                    "go on without those by " + operation("repair " + shell_word(store.string())));
}

RequestLog::RequestLog(const fs::path& store, std::uint64_t bytes) : end_(bytes) {
  const fs::path path = store / kRequestLog;
  if (has_entry(path)) {
    file_ = File::open_own(path);
    make_private(file_);
    file_.truncate(end_);
    return;
  }
  make_folders(path.parent_path());
  file_ = create_private(path);
  sync_directory(path.parent_path());
}

void RequestLog::add(std::span<const LoggedRequest> requests) {
  std::string text;
  for (const LoggedRequest& request : requests) text += text_of(request);
  file_.write_at(end_, std::as_bytes(std::span(text)));
  end_ += text.size();
}

void RequestLog::add_key(std::string_view key) {
  const LoggedRequest line = key_line(key);
  add({&line, 1});
  sync();
}

void RequestLog::sync() const {
  file_.sync();
}

namespace {

/// A log that takes the place of the one that is there, durable, when it is closed.
class NewLog {
 public:
  explicit NewLog(const fs::path& store) : path_(store / kRequestLog), beside_(path_) {
    beside_ += ".new";
    make_folders(path_.parent_path());
    remove_entry(beside_);
    file_ = create_private(beside_);
  }
  void add(const LoggedRequest& request) {
    text_ += text_of(request);
    if (text_.size() >= kPieceBytes) write();
  }
  /// A line that was damaged, without what stood there.
  void add_damaged() { text_.append(kDamagedLine) += '\n'; }
  void close() {
    write();
    file_.sync();
    rename_entry(beside_, path_);
    sync_directory(path_.parent_path());
  }

 private:
  void write() {
    file_.write_at(end_, std::as_bytes(std::span(text_)));
    end_ += text_.size();
    text_.clear();
  }
  fs::path path_, beside_;
  File file_;
  std::string text_;
  std::uint64_t end_ = 0;
};

}  // namespace

void rewrite_request_log(const fs::path& store, const FileEntry* recorded,
                         const std::function<bool(const LoggedRequest&)>& keep) {
  NewLog log(store);
  static_cast<void>(read_request_log(
      store, recorded,
      [&](const LoggedRequest& request) {
        if (keep(request)) log.add(request);
      },
      [&](std::string_view key) { log.add(key_line(key)); }));
  log.close();
}

std::uint64_t mend_request_log(const fs::path& store) {
  NewLog log(store);
  std::uint64_t damaged = 0;
  const LogEnd end = read_lines(store / kRequestLog, [&](std::string_view line, std::uint64_t) {
    if (const std::optional<LoggedRequest> request = read_line(line))
      log.add(*request);
    else
      ++damaged;
  });
  log.close();
  return damaged + (end.tail > 0 ? 1 : 0);
}

PurgedLogs read_purged_logs(std::string_view status) {
  PurgedLogs logs;
  while (!status.empty()) {
    const std::string_view part = status.substr(0, status.find(','));
    status.remove_prefix(std::min(status.size(), part.size() + 1));
    const std::size_t colon = part.find(':');
    std::uint64_t lines = 0;
    if (colon != std::string_view::npos && read_number(part.substr(colon + 1), lines))
      logs.emplace(part.substr(0, colon), lines);
  }
  return logs;
}

void log_purge(const fs::path& store, Millis time, const PurgedLogs& logs) {
  // Numbers of requests begin again, and logs of certificates go on: whoever reads both has to know
  // where, also when the first request with an id is still to come.
  const bool exists = has_entry(store / kRequestLog);
  if (!exists && logs.empty()) return;
  bool is_last = false;  // a purge that a crash interrupted behind this comes here again
  bool is_damaged = false;
  const auto see = [&](const LoggedRequest& request) { is_last = request.kind == kPurgeLine; };
  try {
    if (exists) static_cast<void>(read_request_log(store, nullptr, see));
  } catch (const RecordError&) {
    is_damaged = true;
  }
  if (is_last && !is_damaged) return;
  NewLog log(store);
  const auto add_unmarked = [&](LoggedRequest request) {
    if (request.mark != kExpiredMark) request.mark = {};
    request.earlier = 0;  // whoever sent it knows what it asked for, and would know that the other one did
    log.add(request);
  };
  if (is_damaged) {
    static_cast<void>(read_lines(store / kRequestLog, [&](std::string_view line, std::uint64_t) {
      const std::optional<LoggedRequest> request = read_line(line);
      if (!request)
        log.add_damaged();
      else if (request->kind != kKeyLine)
        add_unmarked(*request);
    }));
    return log.close();
  }
  if (exists) static_cast<void>(read_request_log(store, nullptr, add_unmarked));
  std::string status;
  for (const auto& [name, lines] : logs)
    status.append(status.empty() ? "" : ",").append(name).append(":").append(std::to_string(lines));
  log.add({0, time, kPurgeLine, status, ""});
  log.close();
}

}  // namespace unweave

// algorithms/api/requests.cpp - holds the log of requests against the logs of certificates.
#include "unweave/requests.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/certificate_log.h"
#include "engine/generations/store_purge.h"
#include "engine/generations/store_watch.h"
#include "storage/io/entry.h"
#include "storage/io/json_text.h"
#include "storage/io/line_log.h"
#include "storage/io/plain_text.h"

namespace unweave {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

struct LoggedCertificateLine {
  CoveringCertificate certificate;
  std::uint64_t sequence = 0;  ///< the last request that it covers
};

/// A time or an id is, whatever somebody else has written there.
bool is_short_text(const nlohmann::ordered_json& value) {
  constexpr std::size_t kLongest = 512;
  return value.is_string() && value.get_ref<const std::string&>().size() <= kLongest;
}

/// What a line of a log says; a member of another kind than it should be says nothing.
LoggedCertificateLine read_certificate(std::string_view text, const std::string& name) {
  const auto json = parse_json_or_discard<nlohmann::ordered_json>(text);
  LoggedCertificateLine line;
  line.certificate.model = name;
  line.certificate.number = certificate_number(text);
  if (!json.is_object()) return line;
  for (const auto& [member, value] : json.items()) {
    if (member == "time" && is_short_text(value)) line.certificate.time = value.get<std::string>();
    if (member == "id" && is_short_text(value)) line.certificate.release = value.get<std::string>();
    if (member == "sequence" && value.is_number_unsigned()) line.sequence = value.get<std::uint64_t>();
  }
  return line;
}

/// Which lines of a log can cover a request: those behind the first `begin`, and of the first `end`
/// those that cover this request.
struct WantedLine {
  std::uint64_t begin = 0, end = 0, sequence = 0;
  [[nodiscard]] bool is_covered_by(const LoggedCertificateLine& line, std::uint64_t number) const noexcept {
    return number > begin && (number > end || line.sequence >= sequence);
  }
};

/// The first line that begins at or behind a byte of a log, with the byte behind it; none where
/// there is none.
struct FoundLine {
  std::uint64_t first = 0, behind = 0;
  LoggedCertificateLine line;
};
std::optional<FoundLine> line_from(const File& log, std::uint64_t at, const std::string& name) {
  std::optional<FoundLine> found;
  // The line that the byte before it belongs to is not asked for.
  static_cast<void>(read_lines_from(log, at == 0 ? 0 : at - 1, [&](std::string_view text, std::uint64_t first) {
    if (first < at) return true;
    found = FoundLine{first, first + text.size() + 1, read_certificate(text, name)};
    return false;
  }));
  return found;
}

/// The first certificate of a log that covers a request. Numbers of lines grow, and so do, between
/// two purges, the requests that they cover: so a few lines are read of a long log.
std::optional<CoveringCertificate> first_covering(const fs::path& path, const std::string& name,
                                                  const WantedLine& wanted) {
  const File log = File::open_stored(path);
  std::optional<FoundLine> best;
  for (std::uint64_t low = 0, high = log.size(); low < high;) {
    const std::uint64_t middle = low + (high - low) / 2;
    std::optional<FoundLine> found = line_from(log, middle, name);
    if (!found || found->first >= high) {
      high = middle;
      continue;
    }
    if (found->line.certificate.number == 0) return std::nullopt;  // no log of ours has such a line
    if (wanted.is_covered_by(found->line, found->line.certificate.number)) {
      high = middle;
      best = std::move(found);
    } else {
      low = found->behind;
    }
  }
  return best ? std::optional(std::move(best->line.certificate)) : std::nullopt;
}

/// A log of certificates, which is read once beside the log of requests: the lines that cover these
/// stand in their order.
class CertificateLog {
 public:
  /// `name`: that of its model, which may be gone.
  /// `at_once`: lines that are read at a time.
  CertificateLog(std::string name, fs::path file, std::size_t at_once)
      : name_(std::move(name)), file_(std::move(file)), at_once_(at_once) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The first line that covers a request.
  [[nodiscard]] std::optional<CoveringCertificate> find(const WantedLine& wanted) const {
    return first_covering(file_, name_, wanted);
  }
  /// As find(), for requests each of which is behind the one before.
  [[nodiscard]] std::optional<CoveringCertificate> find_next(const WantedLine& wanted) {
    for (; !lines_.empty() || read_more(); lines_.pop_front(), ++passed_)
      if (wanted.is_covered_by(lines_.front(), passed_ + 1)) return lines_.front().certificate;
    return std::nullopt;
  }

 private:
  /// False at the end of the log.
  bool read_more() {
    if (!has_entry(file_)) return false;
    read_lines_from(File::open_stored(file_), read_, [&](std::string_view text, std::uint64_t first) {
      lines_.push_back(read_certificate(text, name_));
      read_ = first + text.size() + 1;
      return lines_.size() < at_once_;
    });
    return !lines_.empty();
  }

  std::string name_;
  fs::path file_;
  std::size_t at_once_;
  std::uint64_t read_ = 0, passed_ = 0;      // bytes that were read, and lines before those that are held
  std::deque<LoggedCertificateLine> lines_;  // that were read and not passed
};

/// The logs of a store by name.
std::vector<CertificateLog> list_logs(const fs::path& store) {
  constexpr std::size_t kLinesOfAll = 4096;
  const std::vector<Entry> entries = list_folder(store / kCertificatesFolder);
  const std::size_t at_once = std::clamp<std::size_t>(kLinesOfAll / std::max<std::size_t>(1, entries.size()), 1, 256);
  std::vector<CertificateLog> logs;
  for (const Entry& entry : entries)
    if (entry.path.extension() == ".jsonl" && entry.path.stem().extension() != ".private")
      logs.emplace_back(entry.path.stem().string(), entry.path, at_once);
  std::sort(logs.begin(), logs.end(), [](const auto& a, const auto& b) { return a.name() < b.name(); });
  return logs;
}

/// How many lines a log had at a purge.
std::size_t lines_at(const PurgedLogs& purge, const std::string& name) {
  const auto found = purge.find(name);
  return found == purge.end() ? 0 : found->second;
}

/// A request that another one names as having done what it asks for.
struct Earlier {
  std::string id;
  Millis time = 0;
};

using VisitLog = std::function<void(const std::function<void(const LoggedRequest&)>&)>;

/// Whoever asks may know an id as it was sent, or as it is shown.
bool is_asked(std::string_view logged, const std::string& id) {
  return logged == id || (text_fault(logged) && printable(logged) == id);
}

/// What is asked for: the request of an id, or the last `newest` ones that there are at the
/// beginning; all without either.
struct Asked {
  std::optional<std::string> id{};
  std::size_t newest = 0;
};

/// `visit_log` goes through the log, and is called twice. Returns how many requests there are.
std::uint64_t visit(const fs::path& path, const Asked& asked, const VisitLog& visit_log,
                    const std::function<void(const RequestRecord&)>& use) {
  const std::optional<std::string>& id = asked.id;
  const std::vector<ModelSummary> models = list_models(path);
  // Where few requests are asked about, the lines of logs are looked for one by one.
  const bool few = id || asked.newest > 0;
  std::vector<CertificateLog> logs = list_logs(path);
  std::vector<PurgedLogs> purges;  // from the oldest on
  std::map<std::pair<std::size_t, std::uint64_t>, Earlier>
      earlier;  // by purges before them and number: those that others name
  std::uint64_t total = 0;
  std::deque<std::pair<std::size_t, std::uint64_t>> last;  // what each of the last ones names
  visit_log([&](const LoggedRequest& request) {
    if (request.kind == kPurgeLine) {
      purges.push_back(read_purged_logs(request.status));
      return;
    }
    ++total;
    if (asked.newest > 0) {
      last.emplace_back(purges.size(), request.earlier);
      if (last.size() > asked.newest) last.pop_front();
    } else if (request.earlier > 0 && (!id || is_asked(request.id, *id))) {
      earlier.try_emplace({purges.size(), request.earlier});
    }
  });
  for (const auto& named : last)
    if (named.second > 0) earlier.try_emplace(named);
  const std::uint64_t first = asked.newest > 0 ? total - last.size() : 0;
  std::size_t met = 0;      // purges
  std::uint64_t place = 0;  // where the next request stands
  visit_log([&](const LoggedRequest& logged) {
    if (logged.kind == kPurgeLine) {
      ++met;
      return;
    }
    if (const auto named = earlier.find({met, logged.sequence}); named != earlier.end())
      named->second = {printable(logged.id), logged.time};
    if (place++ < first || (id && !is_asked(logged.id, *id)) || met > purges.size()) return;
    RequestRecord record;
    record.id = printable(logged.id);
    record.kind = logged.kind;
    record.status = logged.status;
    record.sequence = logged.sequence;
    record.time = logged.time;
    record.purged = met < purges.size();
    record.expired = logged.mark == kExpiredMark;
    if (const auto named = earlier.find({met, logged.earlier}); logged.earlier > 0 && named != earlier.end()) {
      record.earlier = logged.earlier;
      record.earlier_id = named->second.id;
      record.earlier_time = named->second.time;
    }
    const std::uint64_t covered = record.earlier > 0 ? record.earlier : record.sequence;
    for (CertificateLog& log : logs) {
      // Numbers of requests begin again at a purge, and every release after it covers what was
      // asked for before.
      const WantedLine wanted{
          met > 0 ? lines_at(purges[met - 1], log.name()) : 0,
          record.purged ? lines_at(purges[met], log.name()) : std::numeric_limits<std::size_t>::max(), covered};
      if (auto certificate = few || record.earlier > 0 ? log.find(wanted) : log.find_next(wanted))
        record.certificates.push_back(*std::move(certificate));
    }
    for (const ModelSummary& model : models)
      if (record.done() && record.kind != "expires" && model.damage.empty() && !record.purged &&
          model.sequence < covered)
        record.waiting.push_back(model.name);
    use(record);
  });
  return total;
}

}  // namespace

void visit_requests(const fs::path& named, const std::optional<std::string>& id, Resources& resources,
                    const std::function<void(const RequestRecord&)>& use) {
  const fs::path path = resolved(named);
  bool has_told_none = true;
  const auto tell = [&](const RequestRecord& record) {
    has_told_none = false;
    use(record);
  };
  read_unwritten(
      path,
      [&] {
        const StoreReader store(path, resources.memory());
        static_cast<void>(visit(
            path, {id}, [&](const auto& each) { store.visit_requests(each); }, tell));
      },
      has_told_none);
}

void visit_logged_requests(const fs::path& named, const std::optional<std::string>& id,
                           const std::function<void(const RequestRecord&)>& use) {
  const fs::path path = resolved(named);
  static_cast<void>(visit(
      path, {id}, [&](const auto& each) { static_cast<void>(read_request_log(path, nullptr, each)); }, use));
}

NewestRequests newest_logged_requests(const fs::path& named, std::size_t most) {
  const fs::path path = resolved(named);
  NewestRequests newest;
  std::deque<RequestRecord> last;  // those that came meanwhile, too
  newest.total = visit(
      path, {std::nullopt, std::max<std::size_t>(most, 1)},
      [&](const auto& each) { static_cast<void>(read_request_log(path, nullptr, each)); },
      [&](const RequestRecord& record) {
        last.push_back(record);
        if (last.size() > most) last.pop_front();
      });
  newest.requests.assign(std::make_move_iterator(last.rbegin()), std::make_move_iterator(last.rend()));
  return newest;
}

std::uint64_t forget_requests(const fs::path& path, Millis before, Resources& resources) {
  StoreWriter store(resolved(path), resources.memory());
  return store.forget_requests(before);
}

}  // namespace v0
}  // namespace unweave

// algorithms/verification/verify_log.cpp - checks each line of a log, each private part and each
// receipt, and reports what is wrong.
#include "algorithms/verification/verify_log.h"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>

#include "algorithms/models/receipts.h"
#include "algorithms/updates/request_status.h"
#include "algorithms/verification/verify_public_terms.h"
#include "algorithms/verification/verify_public_words.h"
#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/hex.h"
#include "storage/io/json_text.h"
#include "storage/io/line_log.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string place_of(const fs::path& file, std::uint64_t number) {
  return file.string() + ": line " + std::to_string(number) + ": ";
}

/// Nothing that `private` names may stand in the public line.
void require_no_private_member(const Json& json) {
  const auto shown = json.value("public_terms", std::set<std::string>{});
  for (const Json& member : json.at("private")) {
    const auto name = member.get<std::string>();
    if (name != "terms" && json.contains(name)) throw CheckError(name + " is private, and stands in the public line");
  }
  for (const auto& item : json.at("terms").items())
    if (!shown.contains(item.key())) throw CheckError("the term " + item.key() + " is not named as public");
}

/// What a line says of its release. Throws CheckError, Json::exception, UsageError.
void check_statements(const Json& json) {
  require_no_private_member(json);
  if (!json.contains("certified")) {
    // Where it depends on removed data whether a release is certified, all that follows from it is
    // private, too.
    const auto hidden = json.at("private").get<std::set<std::string>>();
    for (const char* const name : {"certified", "claim", "theorem", "delta", "reference", "adjacency", "releases"})
      if (!hidden.contains(name))
        throw CheckError("it does not say whether it is certified, and says " + std::string(name));
    return;
  }
  if (!json.at("certified").get<bool>()) return;
  if (json.at("for_tests").get<bool>()) throw CheckError("it is certified, and its noise was drawn from a seed");
  const auto theorem = json.at("theorem").get<std::string>();
  if (json.at("claim") != theorem) throw CheckError("its claim is not its theorem");
  check_public_terms(json);
  check_public_words(json);
}

/// Throws Json::exception, std::runtime_error.
std::uint64_t whole_at(const Json& json, const char* name) {
  return whole_number<std::uint64_t>(json.at(name));
}

Hash hash_at(const Json& json, const char* name) {
  const std::optional<Hash> hash = hash_from_hex(json.at(name).get<std::string>());
  if (!hash) throw CheckError(std::string(name) + " is no hash");
  return *hash;
}

/// The root of a batch; nothing where it is null.
std::optional<Hash> root_at(const Json& batch) {
  if (batch.at("root").is_null()) return std::nullopt;
  return hash_at(batch, "root");
}

CheckedLine checked(const Json& json) {
  CheckedLine line;
  line.digest = hash_at(json, "digest");
  line.commitment = hash_at(json, "commitment");
  line.solver = json.at("solver");
  line.sequence = whole_at(json, "sequence");
  line.budget = json.at("budget");
  line.certified = json.value("certified", false);
  line.disclaims = json.contains("certified") && !line.certified;
  if (const Json& batch = json.at("batch"); !batch.is_null()) {
    line.first = whole_at(batch, "first");
    line.root = root_at(batch);
    if (whole_at(batch, "last") != line.sequence || line.first == 0 || line.first > line.sequence)
      throw CheckError("its requests do not end with its sequence");
  }
  return line;
}

/// The end of an id is the beginning of the digest.
void check_weights_digest(const Json& json) {
  if (!json.contains("weights_digest")) return;  // a line of an earlier program
  const std::string digest = to_hex(hash_at(json, "weights_digest")), id = json.at("id");
  if (id.substr(id.rfind('-') + 1) != digest.substr(0, 16))
    throw CheckError("its id is not that of its digest of the weights");
}

/// The line of this number, or null where there is no such certificate.
const CheckedLine* find_line(const LogChecker& log, std::uint64_t number) {
  return number == 0 || number > log.lines().size() ? nullptr : &log.lines()[number - 1];
}

/// The text that a receipt's leaf commits to.
std::string text_of_receipt(const Json& json) {
  auto request = json.at("request").get<std::string>();
  if (json.at("format") == kReceiptFormatWithoutStatus) {
    if (request.find('\t') != std::string::npos) throw CheckError("its request is none");
    if (json.contains("status") || json.contains("reason"))
      throw CheckError("receipts of its format say nothing of the outcome, and it does");
    return request;
  }
  const auto status = json.at("status").get<std::string>(), reason = json.value("reason", std::string());
  std::string text = request + '\t' + status + (json.contains("reason") ? '\t' + reason : "");
  const std::optional<Outcome> outcome = read_outcome(text);
  if (!outcome || outcome->request != request || outcome->status != status || outcome->reason != reason)
    throw CheckError("its status is neither applied nor rejected for a reason");
  return text;
}

/// What no leaf commits to could say anything.
void check_members(const Json& json, const CheckedLine& line) {
  constexpr std::array<std::string_view, 10> kMembers{"format", "solver",   "certificate", "request", "status",
                                                      "reason", "sequence", "nonce",       "path",    "digest"};
  for (const auto& [name, value] : json.items())
    if (std::find(kMembers.begin(), kMembers.end(), name) == kMembers.end())
      throw CheckError("it has a member that no receipt has");
  if (json.at("solver") != line.solver) throw CheckError("its solver is not that of its certificate");
}

/// One receipt against the log. Throws CheckError, Json::exception, std::runtime_error.
void check_receipt(const Json& json, const LogChecker& log, VerifyReport& report) {
  if (json.at("format") != kReceiptFormat && json.at("format") != kReceiptFormatWithoutStatus)
    throw CheckError("this is no receipt");
  const CheckedLine* const found = find_line(log, whole_at(json, "certificate"));
  if (found == nullptr) throw CheckError("its certificate is not in the log");
  const CheckedLine& line = *found;
  if (hash_at(json, "digest") != line.digest) throw CheckError("its certificate is another one than that of the log");
  check_members(json, line);
  const std::uint64_t sequence = whole_at(json, "sequence");
  if (!line.root) throw CheckError("its certificate commits to no requests");
  if (sequence < line.first || sequence > line.sequence)
    throw CheckError("its request is not among those of its certificate");
  std::vector<Hash> path;
  for (const Json& sibling : json.at("path")) {
    const std::optional<Hash> hash = hash_from_hex(sibling.get<std::string>());
    if (!hash) throw CheckError("a hash of its path is none");
    path.push_back(*hash);
  }
  const std::string text = text_of_receipt(json);
  const Hash leaf = leaf_of(hash_at(json, "nonce"), text);
  const std::optional<Hash> root = root_of(leaf, sequence - line.first, line.sequence - line.first + 1, path);
  if (root != line.root) throw CheckError("its certificate does not cover this request with this outcome");
  const std::string_view status = read_outcome(text)->status;
  if (!status.empty()) ++(status == name_of(RequestStatus::applied) ? report.applied : report.rejected);
}

/// Lines of one file, each checked by itself.
class LineChecks {
 public:
  LineChecks(const fs::path& file, VerifyReport& report) : file_(file), report_(report) {}

  /// Calls body() for one line; false or malformed lines are findings. Behind the kMost-th of a
  /// report no line is looked at.
  template <class Body>
  void check(std::uint64_t number, const Body& body) {
    if (report_.findings.size() > kMost) return;
    try {
      body();
    } catch (const CheckError& error) {
      add(false, number, error.message());
    } catch (const nlohmann::json::exception&) {
      add_malformed(number);
    } catch (const std::runtime_error&) {  // thrown by whole_number()
      add_malformed(number);
    }
  }

 private:
  static constexpr std::size_t kMost = 1000;  // who made the files may have made so many on purpose

  void add_malformed(std::uint64_t number) {
    add(true, number, "something is missing in it or malformed; restore the file from a copy");
  }
  void add(bool unreadable, std::uint64_t number, const std::string& what) {
    const std::string file = file_.string();
    report_.findings.push_back({unreadable, place_of(file_, number) + what, file});
    if (report_.findings.size() == kMost)
      report_.findings.push_back({true,
                                  file + ": so much is wrong that what stands behind line " + std::to_string(number) +
                                      ", and lines of other files, were not looked at",
                                  file});
  }

  const fs::path& file_;
  VerifyReport& report_;
};

/// The numbers, from 1, of what is not there, as "3, 5 to 9".
std::string gaps_of(const std::vector<bool>& there) {
  std::string text;
  for (std::size_t i = 0; i < there.size(); ++i) {
    if (there[i]) continue;
    const std::size_t first = i;
    while (i + 1 < there.size() && !there[i + 1]) ++i;
    text += (text.empty() ? "" : ", ") + std::to_string(first + 1) + (i > first ? " to " + std::to_string(i + 1) : "");
  }
  return text;
}

}  // namespace

CheckedLine check_line(const Json& line) {
  CheckedLine one = checked(line);
  check_weights_digest(line);
  check_statements(line);
  return one;
}

void add_unproved(const fs::path& file, const std::vector<CheckedLine>& lines,
                  const std::optional<std::string>& public_key, const std::string& last_key, VerifyReport& report) {
  if (lines.empty() || !report.ok()) return;
  if (!public_key)
    report.remarks.push_back(file.string() + ": signed under " + last_key +
                             ", a key that only this file names: whoever writes another file signs it under a key of " +
                             "their own; give the one that the first training printed, by " + option("public-key"));
  std::vector<bool> stands(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) stands[i] = !lines[i].disclaims;
  if (const std::string numbers = gaps_of(stands); !numbers.empty())
    report.remarks.push_back(file.string() +
                             ": certificates that say themselves that they are not certified, so that " +
                             "no theorem stands behind these releases: " + numbers);
}

void LogChecker::take(std::string_view line, std::uint64_t number) {
  const std::string place = place_of(file_, number);
  const auto damaged = [&](const std::string& what) {
    throw DataError(place + what + "; restore the file from a copy");
  };
  const Json json = parse_json_or_discard<Json>(line);
  const std::string format = json.is_object() && json.contains("format") && json.at("format").is_string()
                                 ? json.at("format").get<std::string>()
                                 : std::string();
  if (format.starts_with("unweave receipt"))
    throw DataError(place + "this is a receipt; give receipts with " + option("receipts") +
                    " and name a log of certificates");
  if (format == kWeightsKeyFormat)
    throw DataError(place + "this is the key of an exported model; name the model in the place of this file");
  if (json.is_object() && format.empty() && json.contains("nonce"))
    throw DataError(place + "this is the private part of a certificate; name the public log, NAME.jsonl beside it");
  if (format != kCertificateFormat) damaged("this is no certificate of a public log");
  if (!is_sealed(line)) damaged("the certificate was altered: its digest or its signature does not fit");
  try {
    const LogPlace next = place_in(json);
    if (lines_.empty() && next.number > 1)
      throw CheckError("this is certificate " + std::to_string(next.number) +
                       ", and those before are missing; where this file came with an exported " +
                       "model, name the model in its place");
    if (public_key_ && next.public_key != *public_key_)
      throw CheckError("it is signed by another key, whose public half is " + next.public_key);
    public_key_ = next.public_key;
    if (next.number != place_.number + 1 || json.at("previous") != (lines_.empty() ? next.log : place_.digest) ||
        (!lines_.empty() && next.log != place_.log))
      throw CheckError("certificate " + std::to_string(next.number) + " does not follow certificate " +
                       std::to_string(place_.number) + ": lines were removed, put in or moved");
    const auto solver = json.at("solver").get<std::string>();
    if (!lines_.empty() && solver != solver_) throw CheckError("it is a certificate of " + solver);
    const auto name = json.value("name", solver);
    if (!lines_.empty() && name != name_) throw CheckError("it is a certificate of the model " + name);
    CheckedLine one = check_line(json);
    check_withdrawn(json, place_.release);
    const std::uint64_t release = whole_at(json, "release");
    const bool trained = release == 1;
    if (!trained && release != release_ + 1)
      throw CheckError("release " + std::to_string(release) + " cannot follow release " + std::to_string(release_));
    if (trained != (one.first == 0) || (!trained && one.first != sequence_ + 1))
      throw CheckError("its requests do not follow those of the release before");
    place_ = next;
    solver_ = solver;
    name_ = name;
    release_ = release;
    sequence_ = one.sequence;
    last_ = line;
    lines_.push_back(one);
  } catch (const nlohmann::json::exception&) {
    damaged("something is missing in the certificate or malformed");
  } catch (const CheckError& error) {
    throw CheckError(place + error.message());
  } catch (const UsageError& error) {  // public numbers that no release can have
    throw CheckError(place + error.message());
  } catch (const std::runtime_error&) {  // thrown by whole_number()
    damaged("something is missing in the certificate or malformed");
  }
}

bool LogChecker::is_followed_by(std::string_view line) const {
  return follows(line, place_);
}

LogEnd check_private_parts(const fs::path& file, const LogChecker& log, VerifyReport& report) {
  std::vector<bool> there(log.lines().size());
  LineChecks checks(file, report);
  const LogEnd end = read_lines(file, [&](std::string_view text, std::uint64_t number) {
    checks.check(number, [&] {
      const Json json = parse_json_or_discard<Json>(text);
      const std::uint64_t which = whole_at(json, "number");
      const CheckedLine* const line = find_line(log, which);
      if (line == nullptr) return;  // a crash kept its public line from the log
      if (hash_of(text) != line->commitment)
        throw CheckError("this is not the private part that certificate " + std::to_string(which) + " commits to");
      there[which - 1] = true;
      if (json.value("certified", line->certified) && !(json.at("residual_bound").get<double>() <= line->budget))
        throw CheckError("certificate " + std::to_string(which) + " is certified above its budget");
    });
  });
  if (const std::string gaps = gaps_of(there); !gaps.empty())
    report.remarks.push_back(file.string() + ": private parts are missing, those of " + gaps +
                             "; a purge removes them, and every public claim holds without them");
  return end;
}

VerifyReport verify_log(const fs::path& file, const std::optional<std::string>& public_key, const fs::path& receipts) {
  VerifyReport report;
  LogChecker log(file, public_key);
  try {
    // Before the log, which may be long. That there are none is an error, unlike with logs.
    if (!receipts.empty()) static_cast<void>(File::open_read(receipts));
    ++report.files;
    const LogEnd end =
        read_lines(File::open_read(file), [&](std::string_view line, std::uint64_t number) { log.take(line, number); });
    report.bytes += end.bytes;
    if (end.tail > 0)
      report.findings.push_back(
          {true, file.string() + ": byte " + std::to_string(end.bytes) +
                     ": it was cut inside its last line, of which " + std::to_string(end.tail) +
                     " bytes are there; fetch the log again, or, in a store whose process was killed, let " +
                     operation("stream STORE " + option("requests", "/dev/null")) + " finish it"});
    if (log.lines().empty())
      report.findings.push_back({true, file.string() + ": holds no certificate; name a log, certificates/NAME.jsonl"});
    if (!receipts.empty()) {
      ++report.files;
      LineChecks checks(receipts, report);
      const LogEnd last = read_lines(File::open_read(receipts), [&](std::string_view text, std::uint64_t number) {
        checks.check(number, [&] {
          check_receipt(parse_json_or_discard<Json>(text), log, report);
          ++report.receipts;
        });
      });
      report.bytes += last.bytes;
      if (last.bytes == 0 || last.tail > 0)
        report.findings.push_back({true, receipts.string() + ": byte " + std::to_string(last.bytes) +
                                             ": a receipt is missing here, a line with its end"});
    }
  } catch (const DataError& error) {
    report.findings.push_back({true, error.message()});
  } catch (const CheckError& error) {
    report.findings.push_back({false, error.message()});
  }
  report.certificates += log.lines().size();
  add_unproved(file, log.lines(), public_key, log.public_key(), report);
  return report;
}

}  // namespace unweave

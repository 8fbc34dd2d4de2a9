// algorithms/models/receipts.cpp - writes receipts to their file, and goes on after one that was
// cut off.
#include "algorithms/models/receipts.h"

#include <sys/file.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "algorithms/updates/request_status.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "storage/io/json_text.h"
#include "storage/io/line_log.h"
#include "storage/io/private_file.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

/// A batch may have a million receipts of a kilobyte: what is longer than this is written before
/// the next one is made.
constexpr std::size_t kWriteBytes = 4096;

Hash secret_of(const ModelRecord& record) {
  const std::optional<Hash> secret = hash_from_hex(record.receipt_secret);
  if (!secret) throw DataError("the model of " + record.model.solver + " holds no secret for its receipts");
  return *secret;
}

/// How every line of a format begins that add() writes.
std::string beginning_of_receipt(std::string_view format) {
  std::string text = text_of_json(Json{{"format", format}});
  text.back() = ',';
  return text;
}

bool is_format(const Json& format) {
  return format == Json(kReceiptFormat) || format == Json(kReceiptFormatWithoutStatus);
}

/// Whether what stands behind byte `at` is what a crash may leave of receipts: the beginning of
/// one, or the zeros of sectors that were never written.
bool is_begun_receipt(const File& file, std::uint64_t at) {
  constexpr std::uint64_t kLooked = std::uint64_t{64} << 10;
  const std::uint64_t size = file.size();
  if (size <= at) return true;
  std::string text(std::min(size - at, kLooked), '\0');
  file.read_at(at, std::as_writable_bytes(std::span(text)));
  for (const std::string_view format : {kReceiptFormat, kReceiptFormatWithoutStatus}) {
    const std::string beginning = beginning_of_receipt(format);
    if (text.starts_with(beginning) || beginning.starts_with(text)) return true;
  }
  // Behind receipts sectors may lack at the beginning alone.
  return at > 0 ? text.front() == '\0' : text.find_first_not_of('\0') == std::string::npos;
}

}  // namespace

RequestTree tree_of(const ModelRecord& record) {
  const Hash secret = secret_of(record);
  std::vector<Hash> leaves;
  leaves.reserve(record.requests.size());
  for (const std::string& request : record.requests)
    leaves.push_back(leaf_of(nonce_of(secret, leaves.size()), request));
  return RequestTree(std::move(leaves));
}

ReceiptFile::ReceiptFile(const std::filesystem::path& named) {
  const std::filesystem::path path = resolved(named);
  const bool fresh = !has_entry(path);
  file_ = fresh ? File::create(path, kOwnerAlone) : File::open_write(path);
  if (::flock(file_.descriptor(), LOCK_EX | LOCK_NB) != 0)
    throw ResourceError(path.string() + ": another stream or service writes its receipts there; name another file");
  if (!fresh) find_end(path);
  if (fresh) sync_directory(path.has_parent_path() ? path.parent_path() : ".");
}

/// Reads the first receipt, and from the end those of the last certificate alone: files grow for
/// years, and are opened often.
void ReceiptFile::find_end(const std::filesystem::path& path) {
  constexpr std::uint64_t kFirstWindow = std::uint64_t{256} << 10, kGrowth = 4;
  const std::uint64_t size = file_.size();
  const auto digest_of = [&](std::string_view line, std::uint64_t at) {
    const Json json = parse_json_or_discard<Json>(line);
    if (!json.is_object() || !is_format(json.value("format", Json())) || !json.value("digest", Json()).is_string())
      throw InputError(path, "byte " + std::to_string(at), "this is no receipt", "name another file");
    return json.value("digest", std::string());
  };
  if (size > kFirstWindow)
    read_lines_from(file_, 0, [&](std::string_view line, std::uint64_t at) {
      static_cast<void>(digest_of(line, at));
      return false;
    });
  for (std::uint64_t window = kFirstWindow;; window *= kGrowth) {
    const std::uint64_t from = size > window ? size - window : 0;
    bool is_rest = from > 0, has_other = false, is_torn = false;
    last_.clear();
    count_ = end_ = 0;
    read_lines_from(file_, from, [&](std::string_view line, std::uint64_t at) {
      // A crash may leave zeros in the place of sectors of the last line.
      if (std::exchange(is_torn, line.find('\0') != std::string_view::npos))
        throw InputError(path, "byte " + std::to_string(at), "the line before it is no receipt", "name another file");
      if (!is_torn && !std::exchange(is_rest, false)) {
        const std::string digest = digest_of(line, at);
        has_other |= !last_.empty() && digest != last_;
        count_ = digest == last_ ? count_ + 1 : 1;
        last_ = digest;
      }
      if (!is_torn) end_ = at + line.size() + 1;
      return true;
    });
    if (from == 0 || has_other) break;
  }
  // Behind receipts a line without its end is one too.
  if (size > end_ && !is_begun_receipt(file_, end_))
    throw InputError(path, "byte " + std::to_string(end_), "this is no receipt", "name another file");
}

void ReceiptFile::add(const ModelRecord& record) {
  if (file_.size() != end_) find_end(file_.path());  // also where somebody has shortened it meanwhile
  file_.truncate(end_);
  if (record.requests.empty()) return;
  const Json certificate = parse_json<Json>(record.certificate);
  const auto digest = certificate.at("digest").get<std::string>();
  const auto first = certificate.at("batch").at("first").get<std::uint64_t>();
  if (last_ != digest) count_ = 0;
  last_ = digest;
  const Hash secret = secret_of(record);
  const RequestTree tree = tree_of(record);
  std::string text;
  const auto write = [&] {
    file_.write_at(end_, std::as_bytes(std::span(text)));
    end_ += text.size();
    text.clear();
  };
  for (; count_ < record.requests.size(); ++count_) {
    Json path = Json::array();
    for (const Hash& sibling : tree.path(count_)) path.push_back(to_hex(sibling));
    const std::optional<Outcome> outcome = read_outcome(record.requests[count_]);
    if (!outcome) throw DataError("the model of " + record.model.solver + " holds what is no request with its outcome");
    Json receipt = {{"format", outcome->status.empty() ? kReceiptFormatWithoutStatus : kReceiptFormat},
                    {"solver", record.model.solver},
                    {"certificate", certificate.at("number")},
                    {"request", outcome->request}};
    if (!outcome->status.empty()) receipt["status"] = outcome->status;
    if (!outcome->reason.empty()) receipt["reason"] = outcome->reason;
    receipt["sequence"] = first + count_;
    receipt["nonce"] = to_hex(nonce_of(secret, count_));
    receipt["path"] = std::move(path);
    receipt["digest"] = digest;
    text += text_of_json(receipt) + '\n';
    if (text.size() >= kWriteBytes) write();
  }
  write();
  file_.sync();
}

}  // namespace unweave

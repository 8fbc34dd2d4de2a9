#include "algorithms/receipts.h"

#include <stdexcept>
#include <vector>

#include "storage/checksum.h"
#include "storage/error.h"
#include "storage/json_text.h"
#include "storage/line_log.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

Hash secret_of(const ModelRecord& record) {
  const std::optional<Hash> secret = hash_from_hex(record.receipt_secret);
  if (!secret) throw DataError("the model of " + record.model.solver + " holds no secret for its receipts");
  return *secret;
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

ReceiptFile::ReceiptFile(const std::filesystem::path& path) {
  const bool fresh = !std::filesystem::exists(path);
  if (!fresh) {
    end_ = read_lines(path, [&](std::string_view line, std::uint64_t number) {
             const Json json = parse_json_or_discard<Json>(line);
             if (!json.is_object() || json.value("format", Json()) != Json(kReceiptFormat) ||
                 !json.value("digest", Json()).is_string())
               throw InputError(path, "line " + std::to_string(number), "this is no receipt", "name another file");
             const auto digest = json.value("digest", std::string());
             count_ = digest == last_ ? count_ + 1 : 1;
             last_ = digest;
           }).bytes;
  }
  file_ = fresh ? File::create(path) : File::open_write(path);
  file_.truncate(end_);
  if (fresh) sync_directory(path.has_parent_path() ? path.parent_path() : ".");
}

void ReceiptFile::add(const ModelRecord& record) {
  if (record.requests.empty()) return;
  const Json certificate = parse_json<Json>(record.certificate);
  const auto digest = certificate.at("digest").get<std::string>();
  const auto first = certificate.at("batch").at("first").get<std::uint64_t>();
  if (last_ != digest) count_ = 0;
  last_ = digest;
  const Hash secret = secret_of(record);
  const RequestTree tree = tree_of(record);
  std::string text;
  for (; count_ < record.requests.size(); ++count_) {
    Json path = Json::array();
    for (const Hash& sibling : tree.path(count_)) path.push_back(to_hex(sibling));
    const Json receipt = {{"format", kReceiptFormat},
                          {"solver", record.model.solver},
                          {"certificate", certificate.at("number")},
                          {"request", record.requests[count_]},
                          {"sequence", first + count_},
                          {"nonce", to_hex(nonce_of(secret, count_))},
                          {"path", std::move(path)},
                          {"digest", digest}};
    text += receipt.dump() + '\n';
  }
  file_.write_at(end_, std::as_bytes(std::span(text)));
  end_ += text.size();
  file_.sync();
}

}  // namespace unweave

// tools/service/request_lookup.cpp - looks into the log of requests and into files of receipts.
#include "tools/service/request_lookup.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "storage/io/file.h"
#include "storage/io/json_text.h"
#include "storage/io/line_log.h"
#include "storage/io/time_text.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

/// Whether a receipt is that of a request in the log: its line ends in "id=ID at=TIME", and its
/// number is the same.
bool is_receipt_of(const Json& receipt, const std::string& id, const RequestRecord& record) {
  if (!receipt.is_object() || !receipt.contains("request") || !receipt["request"].is_string()) return false;
  return receipt.value("sequence", Json()) == Json(record.sequence) &&
         receipt["request"].get_ref<const std::string&>().ends_with(" id=" + id + " at=" + time_text(record.time));
}

}  // namespace

RequestLookup::RequestLookup(std::filesystem::path store, std::filesystem::path receipts,
                             std::vector<std::string> models)
    : store_(std::move(store)), receipts_(std::move(receipts)), models_(std::move(models)) {}

LoggedId RequestLookup::find(const std::string& id) const {
  LoggedId found;
  visit_logged_requests(
      store_, id, [&](const RequestRecord& record) { (record.expired ? found.removal : found.request) = record; });
  if (!found.request) found.request = std::exchange(found.removal, std::nullopt);
  if (!found.removal) return found;
  const bool is_of_note = found.request->kind == "expires" && found.removal->time >= found.request->time;
  if (!is_of_note) found.removal.reset();  // a note of that id is forgotten
  return found;
}

std::string RequestLookup::receipt(const std::string& model, const std::string& id, const LoggedId& logged,
                                   CallMemory& memory) const {
  std::filesystem::path file = receipts_;
  if (models_.size() > 1) file += "." + model;
  std::string within = text_of_json(Json(" id=" + id));  // as it stands in a text of JSON
  within = within.substr(1, within.size() - 2) + ' ';
  std::string found;
  bool has_removal = false;
  static_cast<void>(read_lines(File::open_read(file), [&](std::string_view line, std::uint64_t) {
    if (has_removal || line.find(within) == std::string_view::npos) return;
    const Json receipt = parse_json_or_discard<Json>(line);
    has_removal = logged.removal && is_receipt_of(receipt, id, *logged.removal);
    if (!has_removal && !(logged.request && is_receipt_of(receipt, id, *logged.request))) return;
    memory.add(line.size());
    found = line;
  }));
  return found;
}

}  // namespace unweave

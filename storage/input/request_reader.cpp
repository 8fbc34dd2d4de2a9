#include "storage/input/request_reader.h"

#include <iostream>
#include <limits>
#include <utility>

#include "storage/error.h"

namespace unweave {
namespace {

constexpr std::uint64_t kNoSuchNode = std::numeric_limits<std::uint64_t>::max();

constexpr std::pair<std::string_view, RequestKind> kKinds[] = {{"edge", RequestKind::remove_edge},
                                                               {"node", RequestKind::remove_node},
                                                               {"feature", RequestKind::remove_feature},
                                                               {"insert-edge", RequestKind::insert_edge}};

bool names_edge(RequestKind kind) {
  return kind == RequestKind::remove_edge || kind == RequestKind::insert_edge;
}

/// Digits, perhaps with a minus sign; false for anything else.
bool read_id(std::string_view field, std::uint64_t& id) {
  const bool negative = field.starts_with('-');
  if (negative) field.remove_prefix(1);
  if (field.empty() || field.find_first_not_of("0123456789") != std::string_view::npos) return false;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), id);
  if (error == std::errc::result_out_of_range || negative) id = kNoSuchNode;
  return true;
}

}  // namespace

std::string text_of(const Request& request) {
  std::string text;
  for (const auto& [name, kind] : kKinds)
    if (kind == request.kind) text = name;
  text += " " + std::to_string(request.u);
  return names_edge(request.kind) ? text + " " + std::to_string(request.v) : text;
}

RequestReader::RequestReader(const std::filesystem::path& path) : name_(path == "-" ? "standard input" : path) {
  if (path != "-") file_.emplace(ByteSource({path, {}}));
}

bool RequestReader::next_line(std::string_view& line) {
  if (file_) return file_->next(line);
  if (!std::getline(std::cin, buffer_)) return false;
  if (buffer_.ends_with('\r')) buffer_.pop_back();
  line = buffer_;
  return true;
}

bool RequestReader::next(Request& request) {
  std::string_view line;
  while (next_line(line)) {
    ++number_;
    Fields fields(line);
    if (fields.at_end() || fields.first() == '#') continue;
    const std::string_view word = fields.take();
    for (const auto& [name, kind] : kKinds) {
      if (word != name) continue;
      request = {kind, 0, 0};
      if (read_id(fields.take(), request.u) && (!names_edge(kind) || read_id(fields.take(), request.v)) &&
          fields.at_end())
        return true;
    }
    throw InputError(name_, "line " + std::to_string(number_), "not a request: " + quote_for_message(line),
                     "write `edge U V`, `node U`, `feature U` or `insert-edge U V`");
  }
  return false;
}

}  // namespace unweave

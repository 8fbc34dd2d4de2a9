// storage/input/request_reader.cpp - parses request lines, one by one from standard input.
#include "storage/input/request_reader.h"

#include <iostream>
#include <utility>

#include "storage/formats/request_log.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::pair<std::string_view, RequestKind> kKinds[] = {{"edge", RequestKind::remove_edge},
                                                               {"node", RequestKind::remove_node},
                                                               {"feature", RequestKind::remove_feature},
                                                               {"insert-edge", RequestKind::insert_edge}};

constexpr std::string_view kIdWord = "id=";

bool names_edge(RequestKind kind) {
  return kind == RequestKind::remove_edge || kind == RequestKind::insert_edge;
}

/// Whether the line ends here, or with the id that its sender gave the request.
bool take_id(Fields& fields, Request& request) {
  if (fields.at_end()) return true;
  const std::string_view word = fields.take();
  if (!word.starts_with(kIdWord) || !fields.at_end()) return false;
  request.id = word.substr(kIdWord.size());
  return is_request_id(request.id);
}

}  // namespace

std::string_view word_of(RequestKind kind) {
  for (const auto& [word, known] : kKinds)
    if (known == kind) return word;
  return {};
}

std::string text_of(const Request& request) {
  return text_of(request, [](std::uint64_t id) { return std::to_string(id); });
}

std::string text_of(const Request& request, const std::function<std::string(std::uint64_t id)>& write) {
  std::string text(word_of(request.kind));
  text += " " + write(request.u);
  if (names_edge(request.kind)) text += " " + write(request.v);
  return request.id.empty() ? text : text + ' ' + std::string(kIdWord) + request.id;
}

std::optional<Request> parse_request(std::string_view line, const ReadId& read_id) {
  Fields fields(line);
  const auto read = [&](std::uint64_t& id) {
    if (!read_id) return fields.number(id) == std::errc();
    if (fields.at_end()) return false;
    const std::string_view word = fields.take();
    id = read_id(word);
    return !word.empty();
  };
  const std::string_view word = fields.take();
  for (const auto& [name, kind] : kKinds) {
    if (word != name) continue;
    Request request{kind, 0, 0};
    if (read(request.u) && (!names_edge(kind) || read(request.v)) && take_id(fields, request)) return request;
  }
  return std::nullopt;
}

RequestReader::RequestReader(const std::filesystem::path& path, ReadId read_id)
    : name_(path == "-" ? "standard input" : path), read_id_(std::move(read_id)) {
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
    const Fields fields(line);
    if (fields.at_end() || fields.first() == '#') continue;
    if (std::optional<Request> parsed = parse_request(line, read_id_)) {
      request = *std::move(parsed);
      if (read_id_) {
        text_.clear();
        for (Fields words(line); !words.at_end();) text_.append(text_.empty() ? "" : " ").append(words.take());
      }
      return true;
    }
    throw InputError(name_, "line " + std::to_string(number_), "not a request: " + quote_for_message(line),
                     "write `edge U V`, `node U`, `feature U` or `insert-edge U V`: one request a line, the word in "
                     "lower case, ids " +
                         std::string(read_id_ ? "names of nodes" : "whole numbers from 0") +
                         ", blanks, tabs or commas between, and behind them, where you like, `id=` with your own name "
                         "of the request "
                         "(128 bytes at most)");
  }
  return false;
}

}  // namespace unweave

// storage/input/request_reader.cpp - parses request lines, one by one from standard input.
#include "storage/input/request_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iostream>
#include <iterator>
#include <map>
#include <utility>

#include "storage/formats/request_log.h"
#include "storage/io/error.h"
#include "storage/io/number_text.h"
#include "storage/io/time_text.h"

namespace unweave {
namespace {

constexpr std::pair<std::string_view, RequestKind> kKinds[] = {
    {"edge", RequestKind::remove_edge},        {"node", RequestKind::remove_node},
    {"feature", RequestKind::remove_feature},  {"insert-edge", RequestKind::insert_edge},
    {"set-feature", RequestKind::set_feature}, {"set-label", RequestKind::set_label},
    {"move-split", RequestKind::move_split},   {"insert-node", RequestKind::insert_node},
    {"set-weight", RequestKind::set_weight}};

constexpr std::string_view kIdWord = "id=";
/// Behind the ends of an edge: what follows is when it is to go.
constexpr std::string_view kExpiresWord = "expires";
constexpr std::string_view kNever = "never";
/// Behind the ends of an inserted edge: what follows is its weight.
constexpr std::string_view kWeightWord = "weight";
constexpr std::string_view kSplits[] = {"train", "valid", "test", "none"};

/// A finite number that is the whole text.
std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// Values of a row, or pairs of column and value; empty where the fields are neither. Behind them may be an id.
std::string row_text(Fields& fields, std::string_view& id) {
  std::string text;
  std::map<std::uint64_t, double> pairs;
  while (!fields.at_end()) {
    const std::string_view field = fields.take();
    if (field.starts_with(kIdWord) && fields.at_end()) {
      id = field;
      break;
    }
    const std::size_t colon = field.find(':');
    const std::optional<double> value = number_in(field.substr(colon == std::string_view::npos ? 0 : colon + 1));
    if (!value) return {};
    if (colon == std::string_view::npos) {
      text += (text.empty() ? "" : " ") + shortest_text(*value);
      continue;
    }
    std::uint64_t column = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + colon, column);
    if (error != std::errc() || end != field.data() + colon || !pairs.emplace(column, *value).second) return {};
  }
  if (!pairs.empty() && !text.empty()) return {};
  for (const auto& [column, value] : pairs)
    text += (text.empty() ? "" : " ") + std::to_string(column) + ':' + shortest_text(value);
  return text;
}

/// What a request of this kind sets, from the fields that are left; empty where they do not say it.
std::string value_text(RequestKind kind, Fields& fields, std::string_view& id) {
  if (kind == RequestKind::set_feature || kind == RequestKind::insert_node) return row_text(fields, id);
  const std::string_view word = fields.take();
  if (kind == RequestKind::expire_edge) {
    const std::optional<Millis> time = word == kNever ? std::nullopt : read_time(word);
    return time ? time_text(*time) : word == kNever ? std::string(kNever) : "";
  }
  if (kind == RequestKind::move_split)
    return std::find(std::begin(kSplits), std::end(kSplits), word) == std::end(kSplits) ? "" : std::string(word);
  if (kind == RequestKind::set_label && word == "none") return "none";
  std::uint64_t number = 0;  // a class or a weight
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  const bool is_weight = kind == RequestKind::set_weight || kind == RequestKind::insert_edge;
  return whole && (number > 0 || !is_weight) ? std::to_string(number) : "";
}

bool read_id_word(std::string_view word, Request& request) {
  if (!word.starts_with(kIdWord)) return false;
  request.id = word.substr(kIdWord.size());
  return is_request_id(request.id);
}

/// Whether the line ends here, or with the id that its sender gave the request; an edge may be one that expires, or is inserted
/// with a weight.
bool take_rest(Fields& fields, Request& request) {
  if (fields.at_end()) return true;
  std::string_view word = fields.take();
  const bool expires = request.kind == RequestKind::remove_edge && word == kExpiresWord;
  if (expires || (request.kind == RequestKind::insert_edge && word == kWeightWord)) {
    if (expires) request.kind = RequestKind::expire_edge;
    std::string_view unused;
    request.value = value_text(request.kind, fields, unused);
    if (request.value.empty()) return false;
    if (request.kind == RequestKind::insert_edge && request.value == "1") request.value.clear();
    if (fields.at_end()) return true;
    word = fields.take();
  }
  return fields.at_end() && read_id_word(word, request);
}

}  // namespace

constinit const std::string_view kRequestForms =
    "write `edge U V`, `edge U V expires T` (a moment as 2027-01-31T12:00:00Z or 2027-01-31, or never), `node U`, "
    "`feature U`, `insert-edge U V`, `insert-edge U V weight W` or `set-weight U V W` (where edges have weights, whole numbers from 1), "
    "`insert-node U V1 .. VF` or `set-feature U V1 .. VF` (all values, or pairs C:V of "
    "columns, each once), `set-label U C` (a class or none) or `move-split U S` (train, valid, test or none): one "
    "request a line, the word in lower case, ids whole numbers from 0, or names of nodes in a store of names, values "
    "finite, blanks, tabs or commas between, and behind them, where you like, `id=` with your own name of the request "
    "(128 bytes at most)";

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
    if (!read(request.u) || (names_edge(kind) && !read(request.v))) return std::nullopt;
    std::string_view id;
    if (sets_value(kind)) {
      request.value = value_text(kind, fields, id);
      if (request.value.empty()) return std::nullopt;
    }
    const bool is_whole = id.empty() ? take_rest(fields, request) : read_id_word(id, request);
    return is_whole ? std::optional(std::move(request)) : std::nullopt;
  }
  return std::nullopt;
}

bool is_skipped_line(std::string_view line) {
  const Fields fields(line);
  return fields.at_end() || fields.first() == '#';
}

std::string_view word_of(RequestKind kind) {
  for (const auto& [word, known] : kKinds)
    if (known == kind) return word;
  return word_of(RequestKind::remove_edge);  // an edge that expires
}

std::string_view kind_name(RequestKind kind) {
  return kind == RequestKind::expire_edge ? kExpiresWord : word_of(kind);
}

std::string text_of(const Request& request) {
  return text_of(request, [](std::uint64_t id) { return std::to_string(id); });
}

std::string text_of(const Request& request, const std::function<std::string(std::uint64_t id)>& write) {
  std::string text(word_of(request.kind));
  text += " " + write(request.u);
  if (names_edge(request.kind)) text += " " + write(request.v);
  if (request.kind == RequestKind::expire_edge) text += " " + std::string(kExpiresWord);
  if (request.kind == RequestKind::insert_edge && !request.value.empty()) text += " " + std::string(kWeightWord);
  if (!request.value.empty()) text += " " + request.value;
  return request.id.empty() ? text : text + ' ' + std::string(kIdWord) + request.id;
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
    if (is_skipped_line(line)) continue;
    if (std::optional<Request> parsed = parse_request(line, read_id_)) {
      request = *std::move(parsed);
      if (read_id_) {
        text_.clear();
        for (Fields words(line); !words.at_end();) text_.append(text_.empty() ? "" : " ").append(words.take());
      }
      return true;
    }
    throw InputError(name_, "line " + std::to_string(number_), "not a request: " + quote_for_message(line),
                     std::string(kRequestForms));
  }
  return false;
}

}  // namespace unweave

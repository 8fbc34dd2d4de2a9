// storage/input/request_reader.cpp - parses request lines, one by one from standard input.
#include "storage/input/request_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iostream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "storage/formats/request_log.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/error.h"
#include "storage/io/nearest_name.h"
#include "storage/io/number_text.h"
#include "storage/io/plain_text.h"
#include "storage/io/readable_bytes.h"
#include "storage/io/time_text.h"
#include "storage/types/weight_unit.h"

namespace unweave {
namespace {

struct KindForm {
  std::string_view word;
  RequestKind kind;
  std::string_view form;  ///< how its lines are written, for messages
};

constexpr KindForm kRequestForms[] = {
    {"edge", RequestKind::remove_edge,
     "`edge U V` or `edge U V expires T` (a moment, 2027-01-31 or 2027-01-31T12:00:00Z, or never)"},
    {"node", RequestKind::remove_node,
     "`node U` or `node U expires T` (a moment, 2027-01-31 or 2027-01-31T12:00:00Z, or never)"},
    {"feature", RequestKind::remove_feature,
     "`feature U` or `feature U expires T` (a moment, 2027-01-31 or 2027-01-31T12:00:00Z, or never)"},
    {"insert-edge", RequestKind::insert_edge,
     "`insert-edge U V`, or `insert-edge U V weight W` where edges have weights (1, 2, .., or 0.35 where they are real)"},
    {"set-feature", RequestKind::set_feature,
     "`set-feature U V1 .. VF` (all values) or `set-feature U C:V ..` (values of these columns)"},
    {"set-label", RequestKind::set_label,
     "`set-label U C` (a class 0, 1, 2, .., or none; where classes have names, its name, and #2 for number 2 if some of these are numbers)"},
    {"move-split", RequestKind::move_split, "`move-split U S` (train, valid, test or none)"},
    {"insert-node", RequestKind::insert_node,
     "`insert-node U V1 .. VF` (all values) or `insert-node U C:V ..` (values of these columns), and `graph=G` behind "
     "them where it belongs to a graph"},
    {"set-weight", RequestKind::set_weight, "`set-weight U V W` (a weight 1, 2, .., or 0.35 where weights are real)"},
    {"graph", RequestKind::remove_graph,
     "`graph G` or `graph G expires T` (a moment, 2027-01-31 or 2027-01-31T12:00:00Z, or never)"},
    {"set-graph-label", RequestKind::set_graph_label,
     "`set-graph-label G C` (a class 0, 1, 2, .., or none; where classes have names, its name, and #2 for number 2 if some of these are numbers)"},
    {"move-graph-split", RequestKind::move_graph_split, "`move-graph-split G S` (train, valid, test or none)"}};

constexpr std::string_view kIdWord = "id=";
/// Behind the values of an inserted node: the number of its graph.
constexpr std::string_view kGraphWord = "graph=";
/// Behind what is to go: what follows is when.
constexpr std::string_view kExpiresWord = "expires";
/// In the text of a removal that such a note has asked for.
constexpr std::string_view kExpiredWord = "expired";
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

/// The number of a graph behind the values of a node; empty where it is none, which `fault` tells
/// then.
std::string graph_text(std::string_view word, std::string& fault) {
  const std::string_view digits = word.substr(kGraphWord.size());
  std::uint64_t graph = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), graph);
  if (error == std::errc() && end == digits.data() + digits.size())
    return std::string(kGraphWord) + std::to_string(graph);
  fault = quote_for_message(word) + " names no graph; graphs have numbers from 0";
  return {};
}

/// Values of a row, or pairs of column and value; empty where the fields are neither, which `fault`
/// tells then. Behind them may be a graph, where `with_graph` says so, and an id.
std::string row_text(Fields& fields, bool with_graph, std::string_view& id, std::string& fault) {
  std::string text, graph;
  std::vector<std::pair<std::uint64_t, double>> pairs;
  bool are_mixed = false;
  for (Fields values = fields.rest(); !values.at_end();) {
    const bool mixed = values.mixed();
    const std::string_view word = values.take();
    if (!word.starts_with(kIdWord) && !(with_graph && word.starts_with(kGraphWord))) are_mixed = mixed;
  }
  if (are_mixed) {
    fault = "commas and blanks both part the values, so that a comma may be that of a decimal number";
    return {};
  }
  const auto fail = [&](std::string_view field, const char* what) {
    fault = quote_for_message(field) + what;
    return std::string();
  };
  while (!fields.at_end()) {
    const std::string_view field = fields.take();
    if (field.starts_with(kIdWord) && fields.at_end()) {
      id = field;
      break;
    }
    if (with_graph && field.starts_with(kGraphWord) && graph.empty()) {
      graph = graph_text(field, fault);
      if (graph.empty()) return {};
      continue;
    }
    if (!graph.empty()) return fail(field, " stands behind the graph; write the graph behind all values");
    const std::size_t colon = field.find(':');
    const std::optional<double> value = number_in(field.substr(colon == std::string_view::npos ? 0 : colon + 1));
    if (!value) return fail(field, " is no finite number, nor a pair column:value");
    if (colon == std::string_view::npos) {
      if (!pairs.empty()) return fail(field, " is a value behind pairs column:value; write one or the other");
      text += (text.empty() ? "" : " ") + shortest_text(*value);
      continue;
    }
    if (!text.empty()) return fail(field, " is a pair column:value behind values; write one or the other");
    std::uint64_t column = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + colon, column);
    if (error != std::errc() || end != field.data() + colon) return fail(field, " has no column before the colon");
    pairs.emplace_back(column, *value);
  }
  const auto is_before = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(pairs.begin(), pairs.end(), is_before);
  for (std::size_t i = 1; i < pairs.size(); ++i)
    if (pairs[i].first == pairs[i - 1].first)
      return fail(std::to_string(pairs[i].first) + ':' + shortest_text(pairs[i].second),
                  " has a column that was there already");
  for (const auto& [column, value] : pairs)
    text += (text.empty() ? "" : " ") + std::to_string(column) + ':' + shortest_text(value);
  if (text.empty()) fault = "the values are missing";
  return text.empty() || graph.empty() ? text : text + " " + graph;
}

/// Whether a word counts classes, `2` or `#2`; in quotes it is a name.
bool is_class_number(std::string_view word) {
  word.remove_prefix(word.starts_with('#') ? 1 : 0);
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The moment, split or class that a word says, in its one form; empty where it says none.
std::string text_of_word(RequestKind kind, std::string_view word, const ClassWords* classes, bool real_weights) {
  if (sets_expiry(kind)) {
    const std::optional<Millis> time = word == kNever ? std::nullopt : read_time(word);
    return time ? time_text(*time) : word == kNever ? std::string(kNever) : "";
  }
  const bool is_class = kind == RequestKind::set_label || kind == RequestKind::set_graph_label;
  if (kind == RequestKind::move_split || kind == RequestKind::move_graph_split)
    return std::find(std::begin(kSplits), std::end(kSplits), word) == std::end(kSplits) ? "" : std::string(word);
  if (is_class && word == "none") return "none";
  if (is_class && classes != nullptr && !is_class_number(word)) return classes->request_value(word).value_or("");
  const std::string mark(is_class && word.starts_with('#') ? "#" : "");
  word.remove_prefix(mark.size());
  std::uint64_t number = 0;  // a class or a weight
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  const bool is_weight = kind == RequestKind::set_weight || kind == RequestKind::insert_edge;
  if (is_weight && real_weights) {
    const std::optional<double> weight = weight_of_text(word);
    return weight ? shortest_text(*weight) : "";
  }
  return whole && (number > 0 || !is_weight) ? mark + std::to_string(number) : "";
}

/// What a request of this kind sets, from the fields that are left; empty where they do not say it,
/// which `fault` tells then.
std::string value_text(RequestKind kind, Fields& fields, const ClassWords* classes, std::string_view& id,
                       std::string& fault, bool real_weights = false) {
  if (kind == RequestKind::set_feature || kind == RequestKind::insert_node)
    return row_text(fields, kind == RequestKind::insert_node, id, fault);
  const bool is_split = kind == RequestKind::move_split || kind == RequestKind::move_graph_split;
  const bool is_class = kind == RequestKind::set_label || kind == RequestKind::set_graph_label;
  const bool is_there = !fields.at_end();
  const std::string_view word = fields.take();
  std::string text = text_of_word(kind, word, classes, real_weights);
  if (!text.empty()) return text;
  const std::string what = sets_expiry(kind) ? "moment" : is_split ? "split" : is_class ? "class" : "weight";
  fault = is_there ? quote_for_message(word) + " is no " + what : "the " + what + " is missing";
  if (is_split) fault += did_you_mean(word, kSplits);
  if (is_class && is_there && classes != nullptr)
    fault = quote_for_message(word) + " is none of the classes " + classes->shown() + classes->nearest(word);
  return text;
}

/// The kind that says when to do what this kind does; itself where there is none.
RequestKind noting(RequestKind kind) {
  if (kind == RequestKind::remove_edge) return RequestKind::expire_edge;
  if (kind == RequestKind::remove_node) return RequestKind::expire_node;
  if (kind == RequestKind::remove_graph) return RequestKind::expire_graph;
  return kind == RequestKind::remove_feature ? RequestKind::expire_feature : kind;
}

bool read_id_word(std::string_view word, Request& request, std::string& fault) {
  // What may stand there, but for what was taken already.
  std::vector<std::string_view> words{kIdWord};
  if (noting(request.kind) != request.kind) words.push_back(kExpiresWord);
  if (request.kind == RequestKind::insert_edge && request.value.empty()) words.push_back(kWeightWord);
  if (word.starts_with(kIdWord)) {
    request.id = word.substr(kIdWord.size());
    if (is_request_id(request.id)) return true;
    const std::optional<TextFault> character = text_fault(request.id);
    fault = quote_for_message(word) + " is no id: " +
            (character ? text_of(*character) : "1 to " + std::to_string(kMostIdBytes) + " bytes behind `id=`");
  } else {
    fault = quote_for_message(word) + " is a word too many" + did_you_mean(word, words);
  }
  return false;
}

/// The kind of an edge, which has to be said where there are some.
bool take_relation(Fields& fields, const std::vector<std::string>& relations, Request& request, std::string& fault) {
  if (relations.empty()) return true;
  const std::vector<std::string_view> names(relations.begin(), relations.end());
  if (fields.at_end()) {
    fault = "the relation is missing behind the nodes, " + one_of(names);
    return false;
  }
  const std::string_view word = fields.take();
  const auto found = std::find(names.begin(), names.end(), word);
  request.relation = static_cast<std::uint32_t>(found - names.begin()) + 1;
  if (found != names.end()) return true;
  fault =
      quote_for_message(word) + " is no relation of this store, which has " + one_of(names) + did_you_mean(word, names);
  return false;
}

/// Whether the line ends here, or with the id that its sender gave the request; what it removes may
/// be to expire, and an edge is inserted with a weight.
bool take_rest(Fields& fields, bool real_weights, Request& request, std::string& fault) {
  if (fields.at_end()) return true;
  std::string_view word = fields.take();
  const bool expires = noting(request.kind) != request.kind && word == kExpiresWord;
  if (expires || (request.kind == RequestKind::insert_edge && word == kWeightWord)) {
    if (expires) request.kind = noting(request.kind);
    std::string_view unused;
    request.value = value_text(request.kind, fields, nullptr, unused, fault, real_weights);
    if (request.value.empty()) return false;
    if (request.kind == RequestKind::insert_edge && request.value == "1") request.value.clear();
    if (fields.at_end()) return true;
    word = fields.take();
  }
  if (!read_id_word(word, request, fault)) return false;
  if (fields.at_end()) return true;
  fault = quote_for_message(fields.take()) + " stands behind the id, which ends a line";
  return false;
}

/// What is wrong with a line of this first word, and how it is written.
RequestFault unknown_word(std::string_view word) {
  std::vector<std::string_view> words;
  for (const KindForm& one : kRequestForms) words.push_back(one.word);
  return {"there is no request " + quote_for_message(word) + did_you_mean(word, words),
          "a request begins with " + one_of(words) + ", in lower case, with a blank, a tab or a comma behind it"};
}

/// How a request of this kind is written; where edges have relations, R behind the nodes is one.
std::string form_text(const KindForm& form, bool has_relations) {
  constexpr std::string_view kEnds = "U V";
  std::string text(form.form);
  if (!has_relations || !names_edge(form.kind)) return text;
  for (std::size_t at = text.find(kEnds); at != std::string::npos; at = text.find(kEnds, at + kEnds.size() + 2))
    text.insert(at + kEnds.size(), " R");
  return text;
}

RequestFault fault_of(const KindForm& form, const std::vector<std::string>& relations, std::string what) {
  std::string where = names_graph(form.kind) ? "G is the number of a graph, from 0"
                      : names_edge(form.kind)
                          ? "U and V are whole numbers from 0, or names of nodes in a store of names"
                          : "U is a whole number from 0, or the name of a node in a store of names";
  if (!relations.empty() && names_edge(form.kind))
    where += ", and R is " + one_of(std::vector<std::string_view>(relations.begin(), relations.end()));
  return {std::move(what), "write " + form_text(form, !relations.empty()) + ", where " + where +
                               "; behind it may stand `id=` and your own name of the request"};
}

}  // namespace

std::optional<Request> parse_request(std::string_view line, const RequestWords& meanings, RequestFault* told) {
  Fields fields(line);
  std::string fault;
  const auto read = [&](std::uint64_t& id, bool& by_name, const char* what) {
    if (fields.at_end()) {
      fault = std::string(what) + " is missing";
      return false;
    }
    if (!meanings.node) {
      if (fields.number(id) == std::errc()) return true;
      const std::string_view word = fields.take();
      if (word.starts_with('#') && is_whole_number(word.substr(1)) &&
          std::from_chars(word.data() + 1, word.data() + word.size(), id).ec == std::errc())
        return true;
      fault = quote_for_message(word) + " is no node id";
      return false;
    }
    const std::string_view word = fields.take();
    if (word.empty()) {
      fault = std::string(what) + " is missing";
      return false;
    }
    if (word.starts_with('"') && !is_quoted(word)) {
      fault = quote_for_message(word) + " begins with quotes that are not closed";
      return false;
    }
    const NodeWord node = meanings.node(word);
    const bool is_nobody =
        node.id == std::numeric_limits<std::uint64_t>::max();  // what ReadId gives for an unknown name
    if (is_nobody && word.starts_with(kIdWord) && fields.at_end()) {
      fault = std::string(what) + " is missing before " + quote_for_message(word) +
              "; a name that begins so stands in quotes";
      return false;
    }
    id = node.id;
    by_name = node.by_name;
    return true;
  };
  const std::string_view word = fields.take();
  const auto* const form = std::find_if(std::begin(kRequestForms), std::end(kRequestForms),
                                        [&](const KindForm& one) { return one.word == word; });
  if (form == std::end(kRequestForms)) {
    if (told != nullptr) *told = unknown_word(word);
    return std::nullopt;
  }
  Request request{form->kind, 0, 0};
  const ClassWords* classes = meanings.classes && meanings.classes->given() ? meanings.classes.get() : nullptr;
  const auto read_graph = [&] {
    if (!fields.at_end() && fields.number(request.u) == std::errc()) return true;
    const std::string_view graph = fields.take();
    fault = graph.empty() ? "the graph is missing" : quote_for_message(graph) + " is no number of a graph";
    return false;
  };
  const auto read_all = [&] {
    if (names_graph(form->kind) ? !read_graph() : !read(request.u, request.u_by_name, "the node")) return false;
    if (names_edge(form->kind) && !read(request.v, request.v_by_name, "the second node")) return false;
    if (names_edge(form->kind) && !take_relation(fields, meanings.relations, request, fault)) return false;
    std::string_view id;
    if (sets_value(form->kind)) {
      request.value = value_text(form->kind, fields, classes, id, fault, meanings.real_weights);
      if (request.value.empty()) return false;
    }
    return id.empty() ? take_rest(fields, meanings.real_weights, request, fault) : read_id_word(id, request, fault);
  };
  if (read_all()) return request;
  if (told != nullptr) *told = fault_of(*form, meanings.relations, std::move(fault));
  return std::nullopt;
}

std::string text_of(const RequestFault& fault, std::string_view line) {
  return "not a request: " + quote_for_message(line) + ": " + fault.what;
}

bool is_skipped_line(std::string_view line) {
  const Fields fields(line);
  return fields.at_end() || fields.first() == '#';
}

std::string_view word_of(RequestKind kind) {
  for (const KindForm& one : kRequestForms)
    if (one.kind == kind || noting(one.kind) == kind) return one.word;
  return word_of(RequestKind::remove_edge);  // there are no others
}

std::string_view kind_name(RequestKind kind) {
  return sets_expiry(kind) ? kExpiresWord : word_of(kind);
}

std::string text_of(const Request& request) {
  return text_of(request, [](std::uint64_t id, bool) { return std::to_string(id); });
}

std::string text_of(const Request& request, const WriteRequestNode& write, const std::vector<std::string>& relations) {
  std::string text(word_of(request.kind));
  text += " " + (names_graph(request.kind) ? std::to_string(request.u) : write(request.u, request.u_by_name));
  if (names_edge(request.kind)) text += " " + write(request.v, request.v_by_name);
  if (request.relation > 0)
    text += " " + (request.relation <= relations.size() ? relations[request.relation - 1] : "?");
  if (sets_expiry(request.kind)) text += " " + std::string(kExpiresWord);
  if (is_expired(request)) text += " " + std::string(kExpiredWord);
  if (request.kind == RequestKind::insert_edge && !request.value.empty()) text += " " + std::string(kWeightWord);
  if (!request.value.empty()) text += " " + request.value;
  if (!request.id.empty()) text.append(" ").append(kIdWord).append(request.id);
  return printable(text);
}

RequestReader::RequestReader(const std::filesystem::path& path, RequestWords words, std::uint64_t most_line)
    : name_(path == "-" ? "standard input" : path), words_(std::move(words)), most_line_(most_line) {
  if (path != "-") file_.emplace(ByteSource({path, {}}));
}

bool RequestReader::next_line(std::string_view& line) {
  if (file_) return file_->next(line);
  buffer_.clear();
  std::streambuf& in = *std::cin.rdbuf();
  int next = in.sbumpc();
  if (next == std::char_traits<char>::eof()) return false;
  for (; next != '\n' && next != std::char_traits<char>::eof(); next = in.sbumpc()) {
    if (buffer_.size() == most_line_)
      throw InputError(name_, "line " + std::to_string(number_ + 1),
                       "this line is longer than " + readable_bytes(most_line_), "raise " + option("memory"));
    buffer_ += static_cast<char>(next);
  }
  if (buffer_.ends_with('\r')) buffer_.pop_back();
  line = buffer_;
  constexpr std::string_view kMark = "\xef\xbb\xbf";  // a byte order mark, which files may have, too
  if (number_ == 0 && line.starts_with(kMark)) line.remove_prefix(kMark.size());
  return true;
}

bool RequestReader::next(Request& request) {
  std::string_view line;
  while (next_line(line)) {
    ++number_;
    if (is_skipped_line(line)) continue;
    RequestFault fault;
    if (std::optional<Request> parsed = parse_request(line, words_, &fault)) {
      request = *std::move(parsed);
      if (words_.node) {
        text_.clear();
        for (Fields words(line); !words.at_end();) text_.append(text_.empty() ? "" : " ").append(words.take());
      }
      return true;
    }
    throw InputError(name_, "line " + std::to_string(number_), text_of(fault, line), fault.remedy);
  }
  return false;
}

}  // namespace unweave

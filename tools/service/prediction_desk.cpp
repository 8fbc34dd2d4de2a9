// tools/service/prediction_desk.cpp - reads whom a call asks about, and writes what a model says of
// them.
#include "tools/service/prediction_desk.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/resources/watcher.h"
#include "storage/input/words/line_reader.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/error.h"
#include "storage/io/json_text.h"
#include "storage/io/plain_text.h"
#include "storage/types/class_names.h"
#include "tools/cli/message_style.h"
#include "tools/service/answers.h"
#include "tools/service/call_target.h"
#include "tools/service/callers.h"
#include "tools/service/request_body.h"
#include "unweave/links.h"
#include "unweave/models.h"
#include "unweave/remarks.h"
#include "unweave/rows.h"

namespace unweave {
namespace {

using Json = AnswerJson;

constexpr std::size_t kMostPredicted = 10'000;            // nodes, graphs or pairs of a call
constexpr std::size_t kMostLinks = 1000, kFewLinks = 10;  // most of a node, and those where nobody says
constexpr std::size_t kPredictedAtOnce = 64;              // between two looks at whether the service ends
constexpr std::uint64_t kTextGrowth = 3;  // times a text that grows: its room, and its next one beside it

/// More pairs than a call may have.
struct TooManyPairs final {};

/// The number that fills a word; nothing where it is none, or larger than any.
std::optional<std::uint64_t> number_in(std::string_view word) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() ? std::optional(number) : std::nullopt;
}

/// A node as users call it. Throws UsageError for a word that is none.
NodeId read_node(std::string_view word, const Reader& reader) {
  const std::uint64_t node =
      reader.names().given() ? reader.names().read(word).id : number_in(word).value_or(kUnknownName);
  if (node >= reader.nodes()) throw UsageError("no node is called " + quote_for_message(word));
  return static_cast<NodeId>(node);
}

/// Calls use(word) for words with commas between. Throws UsageError.
template <class Use>
void each_word(std::string_view text, const Use& use) {
  while (!text.empty()) {
    // A name with a comma stands in quotes, as in a request.
    const std::size_t quotes = text.starts_with('"') ? end_of_quotes(text) : 0;
    if (quotes == std::string_view::npos)
      throw UsageError(quote_for_message(text) + " begins with quotes that are not closed");
    const std::string_view word = text.substr(0, text.find(',', quotes));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    use(word);
  }
}

/// A line of two nodes. Throws UsageError.
Edge read_pair(std::string_view line, const Reader& reader) {
  Fields fields(line);
  std::array<NodeId, 2> ends{};
  for (NodeId& end : ends) {
    if (fields.at_end()) throw UsageError("a pair has two nodes");
    const std::string_view word = fields.take();
    if (word.starts_with('"') && !is_quoted(word))
      throw UsageError(quote_for_message(word) + " begins with quotes that are not closed");
    end = read_node(word, reader);
  }
  if (!fields.at_end() || fields.after_comma())
    throw UsageError("a pair has two nodes, and " + quote_for_message(fields.take()) + " stands behind them");
  return {ends[0], ends[1]};
}

/// Where nodes have names, "#3" is node 3, and a line that begins so would be passed over as a
/// remark. Throws UsageError.
void require_no_numbers_as_remarks(std::string_view body) {
  while (!body.empty()) {
    const std::string_view line = body.substr(0, body.find('\n'));
    body.remove_prefix(std::min(body.size(), line.size() + 1));
    const std::string_view word = Fields(line).take();
    if (word.starts_with('#') && is_whole_number(word.substr(1)))
      throw UsageError("a line that begins with " + quote_for_message(word) +
                       " may be a remark or a pair; write # and a blank before a remark, and send the pair as "
                       "application/json");
  }
}

/// The pairs of a body, with memory set aside before there is room for them. Throws UsageError with
/// the place of what is wrong, TooManyPairs.
std::vector<Edge> read_pairs_of(Call& call, const Reader& reader) {
  std::vector<Edge> pairs;
  std::size_t line = 0;
  const auto use = [&](std::string_view text) {
    ++line;
    if (pairs.size() == kMostPredicted) throw TooManyPairs();
    call.memory.add(2 * sizeof(Edge));
    try {
      pairs.push_back(read_pair(text, reader));
    } catch (const UsageError& error) {
      throw UsageError("pair " + std::to_string(line) + ": " + error.message());
    }
  };
  if (essence_of(call.head.content_type) == kJsonType) {
    call.memory.add(6 * call.body.size());
    if (!read_json_lines(call.body, "pairs", use))
      throw UsageError(R"(the body is not of the form {"pairs": ["1 2"]}, with nothing else in it)");
  } else {
    if (reader.names().given()) require_no_numbers_as_remarks(call.body);
    read_text_lines(call.body, use);
  }
  if (pairs.empty()) throw UsageError("there is no pair in the body");
  return pairs;
}

std::size_t read_top(std::string_view target) {
  const std::optional<std::string> word = query_member(target, "top");
  const std::optional<std::uint64_t> top = word ? number_in(*word) : kFewLinks;
  if (!top || *top == 0 || *top > kMostLinks)
    throw UsageError("top=" + printable(word.value_or("")) + ": how many links is a number from 1 to " +
                     std::to_string(kMostLinks));
  return static_cast<std::size_t>(*top);
}

}  // namespace

/// Long work hears of the end of the service from it.
class PredictionDesk::Watch final : public WorkMeter {
 public:
  explicit Watch(const std::function<bool()>& ends) : ends_(ends) {}

 private:
  [[nodiscard]] bool cancelled() noexcept override { return ends_(); }
  const std::function<bool()>& ends_;
};

/// An answer with the name of a model, a list, and perhaps a note.
class PredictionDesk::Told {
 public:
  Told(const OpenedModel& opened, CallMemory& memory, const char* list)
      : model(opened.model), reader(opened.reader), memory_(memory) {
    text_ = text_of_json(Json{{"model", model.name()}, {"sequence", model.facts().sequence}});
    text_.pop_back();
    text_ += ",\"" + std::string(list) + "\":[";
    beginning_ = text_.size();
  }
  void add(const Json& entry) {
    const std::string text = text_of_json(entry);
    memory_.add(kTextGrowth * (text.size() + 1));
    text_.append(text_.size() == beginning_ ? "" : ",").append(text);
  }
  void add_links(std::span<const ScoredLink> links) {
    for (const ScoredLink& link : links)
      add({{"u", id_json(link.u)}, {"v", id_json(link.v)}, {"score", link.score}, {"probability", link.probability}});
  }
  /// Classes, which have names or numbers. `are_nodes`: what the ids are of.
  [[nodiscard]] ScoreSink adding_classes(bool are_nodes) {
    return [this, are_nodes, classes = model.facts().classes, names = reader.class_names()](
               std::span<const std::int64_t> ids, std::span<double> margins) {
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto row = margins.subspan(i * classes, classes);
        const auto best = std::max_element(row.begin(), row.end());
        const auto said = static_cast<std::uint64_t>(best - row.begin());
        const auto id = static_cast<std::uint64_t>(ids[i]);
        add({{"id", are_nodes ? id_json(id) : Json(id)},
             {"class", names.empty() ? Json(said) : Json(class_text(names, said))},
             {"score", *best}});
      }
    };
  }
  void note(std::string text) { note_ = std::move(text); }

  [[nodiscard]] Answer answer() {
    text_ += "]";
    if (!note_.empty()) text_ += ",\"note\":" + text_of_json(Json(command_text(note_)));
    text_ += "}\n";
    Answer made;
    made.body = std::move(text_);
    return made;
  }

  const StoredModel& model;
  const Reader& reader;

 private:
  /// A number where nodes have numbers.
  [[nodiscard]] Json id_json(std::uint64_t node) const {
    return reader.names().given() ? Json(reader.names().plain_text(node)) : Json(node);
  }

  CallMemory& memory_;
  std::string text_, note_;
  std::size_t beginning_ = 0;
};

/// Empty where the store has one, or none.
std::string PredictionDesk::names_of_several_models() const {
  std::string names;
  std::size_t count = 0;
  for (const ModelInfo& model : describe_store(store_, resources_, false).models)
    names += (count++ == 0 ? "" : ", ") + model.name;
  return count > 1 ? names : std::string();
}

Answer PredictionDesk::with_model(Call& call, const char* list, const std::function<void(Told& told)>& tell) const {
  ModelSelection selection;
  try {
    selection.name = query_member(call.head.target, "model");
    const Intake::Reading reading(intake_, ends_);
    Watch watch(ends_);
    const WatchedBy watched(watch);
    const OpenedModel opened = open_with_model(store_, selection, resources_);
    Told told(opened, call.memory, list);
    tell(told);
    return told.answer();
  } catch (const Cancelled&) {
    throw BusyError("the service ends");
  } catch (const TooManyPairs&) {
    return error_of("a call has at most " + std::to_string(kMostPredicted) + " pairs; send them in parts", kTooLarge);
  } catch (const UsageError& error) {
    if (const std::string names = names_of_several_models(); !selection.name && !names.empty())
      return error_of("the store has several models; choose one by &model=NAME: " + names, kBadRequest);
    return error_of(command_text(error.message()), kBadRequest);
  }
}

void PredictionDesk::tell_nodes(const std::string& words, Told& told) const {
  std::vector<NodeId> nodes;
  each_word(words, [&](std::string_view word) { nodes.push_back(read_node(word, told.reader)); });
  if (nodes.empty() || nodes.size() > kMostPredicted) throw UsageError("nodes=1,2,3 is needed: up to 10,000 nodes");
  const ScoreSink sink = told.adding_classes(true);
  for (std::size_t at = 0; at < nodes.size(); at += kPredictedAtOnce) {
    if (ends_()) throw BusyError("the service ends");
    const auto first = nodes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(kPredictedAtOnce, nodes.size() - at));
    score_nodes(told.reader, told.model, std::vector<NodeId>(first, last), sink);
  }
  told.note(remark_on_blank_nodes(told.reader, nodes));
}

void PredictionDesk::tell_graphs(const std::string& words, Told& told) const {
  std::vector<NodeId> graphs;
  each_word(words, [&](std::string_view word) {
    const std::optional<std::uint64_t> graph = number_in(word);
    if (!graph || *graph > kMaxNodeId) throw UsageError(quote_for_message(word) + " is no number of a graph");
    graphs.push_back(static_cast<NodeId>(*graph));
  });
  if (graphs.empty() || graphs.size() > kMostPredicted) throw UsageError("graphs=1,2,3 is needed: up to 10,000 graphs");
  const ScoreSink sink = told.adding_classes(false);
  for (std::size_t at = 0; at < graphs.size(); at += kPredictedAtOnce) {
    if (ends_()) throw BusyError("the service ends");
    const auto first = graphs.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(kPredictedAtOnce, graphs.size() - at));
    score_graphs(told.reader, told.model, std::vector<NodeId>(first, last), sink);
  }
}

Answer PredictionDesk::predict(Call& call) const {
  return with_model(call, "predictions", [&](Told& told) {
    const std::optional<std::string> nodes = query_member(call.head.target, "nodes"),
                                     graphs = query_member(call.head.target, "graphs");
    if (nodes && graphs) throw UsageError("nodes= and graphs=: give one of them");
    if (graphs)
      tell_graphs(*graphs, told);
    else
      tell_nodes(nodes.value_or(""), told);
  });
}

Answer PredictionDesk::score_pairs(Call& call) const {
  return with_model(call, "links", [&](Told& told) {
    const std::vector<Edge> pairs = read_pairs_of(call, told.reader);
    score_links(told.reader, told.model, pairs, [&](std::span<const ScoredLink> links) { told.add_links(links); });
  });
}

Answer PredictionDesk::best_links(Call& call, const std::string& node) const {
  return with_model(call, "links", [&](Told& told) {
    const std::size_t top = read_top(call.head.target);
    unweave::best_links(told.reader, told.model, {read_node(node, told.reader)}, top,
                        [&](std::span<const ScoredLink> links) { told.add_links(links); });
  });
}

}  // namespace unweave

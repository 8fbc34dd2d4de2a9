// tools/service/http_service.cpp - the calls of the service: which are admitted, and what each
// does.
#include "tools/service/http_service.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "algorithms/live/model_text.h"
#include "algorithms/models/certificate_log.h"
#include "engine/resources/memory_shares.h"
#include "storage/input/words/line_reader.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/entry.h"
#include "storage/io/hex.h"
#include "storage/io/json_text.h"
#include "storage/io/line_log.h"
#include "storage/types/class_names.h"
#include "tools/cli/message_style.h"
#include "tools/service/answers.h"
#include "tools/service/browsers.h"
#include "tools/service/call_target.h"
#include "tools/service/callers.h"
#include "tools/service/http_transport.h"
#include "tools/service/officer_desk.h"
#include "tools/service/prediction_desk.h"
#include "tools/service/quarantine.h"
#include "tools/service/request_body.h"
#include "tools/service/request_lookup.h"
#include "unweave/models.h"
#include "unweave/remarks.h"
#include "unweave/requests.h"
#include "unweave/rows.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using Json = AnswerJson;

constexpr std::uint64_t kMostCallMemory = std::uint64_t{256} << 20;  // for all calls together
constexpr std::size_t kMostLines = 100'000;                          // a call may have
constexpr std::size_t kLinesAtOnce = 256;                            // between two looks at whether the service ends
constexpr std::size_t kShownText = 200, kKeptText = 4096;  // bytes of a line that is no request: answered, kept
constexpr std::uint64_t kFormBytes = std::uint64_t{4} << 10;

/// An id for a request to which its sender gave none: 128 random bits of the system's, which some
/// processors give by themselves a hundred times as slowly.
std::string drawn_id() {
  std::array<unsigned char, 16> bytes{};
  if (::getentropy(bytes.data(), bytes.size()) != 0)
    throw ResourceError("the system has no random numbers for the id of a request; send it with an id");
  return "u-" + to_hex(std::as_bytes(std::span(bytes)));
}

/// The options of a purge: a JSON object with none of its members or some; an empty body has none.
/// False for another form.
bool read_purge_options(std::string_view body, PurgeOptions& options) {
  constexpr std::size_t kMostBytes = 4096;
  if (body.empty()) return true;
  if (body.size() > kMostBytes) return false;
  const Json json = parse_json_or_discard<Json>(body);
  if (!json.is_object()) return false;
  for (const auto& [name, value] : json.items()) {
    bool* const place = name == "always"          ? &options.always
                        : name == "keep_order"    ? &options.keep_order
                        : name == "without_feeds" ? &options.without_feeds
                                                  : nullptr;
    if (place == nullptr || !value.is_boolean()) return false;
    *place = value.get<bool>();
  }
  return true;
}

/// More lines than a call may have.
struct TooManyLines final {};

}  // namespace

struct HttpService::Impl {
  Impl(const fs::path& path, Intake& requests, Resources& memory, Reservation calls, ReadLine read, HttpOptions how)
      : store(path),
        intake(requests),
        resources(memory),
        read_line(std::move(read)),
        options(std::move(how)),
        quarantine(options.quarantine),
        set_aside(std::move(calls)),
        call_memory(set_aside.bytes()),
        listener(options.address),
        callers(listener.address(), options.hosts, options.tokens),
        browsers("unweave-" + std::to_string(listener.address().port)),
        lookup(store, options.receipts, options.models),
        desk(store, intake, resources, lookup, options.models, [this] { return transport.ends(); }),
        predictions(store, intake, resources, [this] { return transport.ends(); }),
        transport(listener.release(), call_memory,
                  {[this](const CallHead& head) { return admit(head); }, [this](Call& call) { return answer(call); },
                   [](int status, const char* what) { return error_of(what, status); }}) {
    const ListenAddress& address = listener.address();
    const bool is_v6 = address.host.find(':') != std::string::npos;
    location = !address.socket.empty()
                   ? address.socket.string()
                   : "http://" + (is_v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
  }

  // A call, by its first word. `with_rest`: something stands behind it.
  struct Route {
    std::string_view name;
    bool with_rest;
    bool posts;
    std::string_view members;  // The names that its query may have.
    Answer (Impl::*answer)(Call& call, const std::string& rest);
  };
  [[nodiscard]] static std::span<const Route> routes();

  static const Route* route_of(const std::optional<Path>& path) {
    if (path)
      for (const Route& route : routes())
        if (route.name == path->name && route.with_rest == !path->rest.empty()) return &route;
    return nullptr;
  }

  /// What the body of a call turned out to say.
  struct TakenLines {
    std::vector<Request> requests;
    std::vector<std::size_t> lines;  ///< their places in the call, from 1
    std::vector<BadLine> bad;
    std::string refused;  ///< the bad ones for the answer: objects with commas between
    std::size_t count = 0;
  };

  /// Who calls comes before what is called: a stranger hears nothing else, but for the form that
  /// asks for a token.
  Admission admit(const CallHead& head) const {
    const bool with_token = callers.need_token() && callers.has_token(head);
    const std::optional<Path> path = read_path(head.target);
    const Route* const route = route_of(path);
    const bool is_page = route != nullptr && route->name.empty(), is_login = is_form(route) && route->name == "login";
    // A cookie, which a browser sends by itself, opens the page and nothing else.
    const bool with_cookie =
        callers.need_token() && !with_token && (is_page || (is_form(route) && !is_login)) && browsers.has(head.cookie);
    // Who has no token where one is needed gets one answer a connection, so that his do not stay in
    // the way of others.
    const bool is_last = callers.need_token() && !with_token && !with_cookie;
    if (const std::optional<std::string> why = callers.foreign(head))
      return {error_of(*why, kForbidden), false, Lane::quick, is_last};
    if (is_last && is_page && (head.method == "GET" || head.method == "HEAD"))
      return {login_answer(false), false, Lane::quick, true};
    if (is_last && !is_login && !(route != nullptr && route->name == "ready")) {
      Answer refusal = error_of("a token is needed: the header `Authorization: Bearer TOKEN`", kUnauthorized);
      refusal.headers.emplace_back("WWW-Authenticate", "Bearer");
      return {std::move(refusal), false, Lane::quick, is_last};
    }
    // These take the memory of a reader and wait for a purge, or look into logs that grow with the
    // life of the store.
    const bool predicts =
        route != nullptr && (route->name == "predict" || route->name == "pairs" || route->name == "links");
    const bool looks_up =
        is_page || (route != nullptr &&
                    (route->name == "receipts" || (route->name == "requests" && !route->posts && !waits(path->rest))));
    const Lane lane = predicts ? Lane::predictions : looks_up ? Lane::look_ups : Lane::quick;
    return {fault_of_call(head, path, route), with_token || with_cookie, lane, is_last,
            is_form(route) ? kFormBytes : 0};
  }

  /// Whether a request was acknowledged here and is not applied: then no log is looked into.
  [[nodiscard]] bool waits(const std::string& id) const {
    const std::optional<RequestState> state = intake.find(id);
    return state && !state->applied;
  }

  static bool is_form(const Route* route) {
    return route != nullptr && (route->name == "login" || route->name == "logout");
  }

  /// A form may be sent by any page, and without asking first: it has to say that it is the
  /// service's own.
  [[nodiscard]] std::optional<Answer> fault_of_form(const CallHead& head) const {
    if (!callers.need_token()) return error_of("no token is needed here, and the page is at /", kNotFound);
    if (!Callers::names_page(head))
      return error_of("a form says which page has sent it, in the header Origin or Sec-Fetch-Site", kForbidden);
    if (essence_of(head.content_type) != kFormType)
      return error_of("a form has the header Content-Type: application/x-www-form-urlencoded", kWrongType);
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Answer> fault_of_call(const CallHead& head, const std::optional<Path>& path,
                                                    const Route* route) const {
    if (!path)
      return error_of("the path cannot be read: write a percent sign as %25, a slash in an id as %2F", kBadRequest);
    if (route == nullptr) return error_of("there is no such call; see `unweave serve --help`", kNotFound);
    if (route->posts ? head.method != "POST" : head.method != "GET" && head.method != "HEAD") {
      const std::string allowed = route->posts ? "POST" : "GET, HEAD";
      Answer refusal = error_of("this call is made by " + allowed, kNotAllowed);
      refusal.headers.emplace_back("Allow", allowed);
      return refusal;
    }
    if (const std::optional<std::string> fault = fault_of_query(head.target, route->members))
      return error_of(*fault, kBadRequest);
    if (!route->posts)
      return head.has_body ? std::optional(error_of("this call has no body", kBadRequest)) : std::nullopt;
    if (is_form(route)) return fault_of_form(head);
    const std::string type = essence_of(head.content_type);
    if (route->name == "purge")
      return type == kJsonType
                 ? std::nullopt
                 : std::optional(error_of("a purge needs the header Content-Type: application/json", kWrongType));
    if (type != kLinesType && type != kJsonType)
      return error_of(
          std::string(route->name) + " need the header Content-Type: text/x-unweave, for lines, or application/json",
          kWrongType);
    return std::nullopt;
  }

  Answer answer(Call& call) {
    try {
      const std::optional<Path> path = read_path(call.head.target);
      Answer made = (this->*route_of(path)->answer)(call, path->rest);
      call.memory.cover(made.body.size());
      return made;
    } catch (const BusyError& busy) {
      return error_of(command_text(busy.message()), kUnavailable);
    } catch (const FullError& full) {
      return error_of(command_text(full.message()), kFull);
    } catch (const TooLargeError& large) {
      return error_of(command_text(large.message()), kTooLarge);
    } catch (const ResourceError& full) {
      if (call.memory.is_too_large())
        return error_of(
            "the call needs more than all the memory that is for calls; send it in parts, or start the "
            "service with a larger --memory",
            kTooLarge);
      return error_of(command_text(full.message()), kUnavailable);
    } catch (const Error& known) {
      return error_of(command_text(known.message()), kServerError);
    }
  }

  /// Reads one line, and sets aside what it takes until the call is answered.
  void take_line(std::string_view line, CallMemory& memory, TakenLines& taken) const {
    if (++taken.count > kMostLines) throw TooManyLines();
    if (taken.count % kLinesAtOnce == 0 && transport.ends()) throw BusyError("the service ends");
    if (taken.requests.size() == taken.requests.capacity()) {
      const std::size_t more = std::max<std::size_t>(4, 2 * taken.requests.size());
      memory.add(more * sizeof(Request));
      taken.requests.reserve(more);
    }
    memory.add(parsing_bytes(line));
    RequestFault fault;
    std::optional<Request> request = read_line(line, fault);
    if (request) {
      if (request->id.empty()) request->id = drawn_id();
      // The id, and again in the answer.
      memory.add(kAnsweredRequest + 4 * request->id.size());
      taken.requests.push_back(*std::move(request));
      taken.lines.push_back(taken.count);
      return;
    }
    const std::string reason = "not a request: " + fault.what;
    const std::string entry = text_of_json(
        Json{{"line", taken.count}, {"text", std::string(line.substr(0, kShownText))}, {"reason", reason}});
    memory.add(kAnsweredRequest + 2 * std::min(line.size(), kKeptText) + 2 * reason.size() + 3 * entry.size());
    taken.bad.push_back({std::string(line.substr(0, kKeptText)), reason});
    taken.refused.append(taken.refused.empty() ? "" : ",").append(entry);
  }

  Answer take(Call& call, const std::string&) {
    TakenLines taken;
    const auto use = [&](std::string_view line) { take_line(line, call.memory, taken); };
    try {
      if (essence_of(call.head.content_type) == kJsonType) {
        call.memory.add(6 * call.body.size());
        if (!read_json_lines(call.body, "requests", use))
          return error_of(R"(the body is not of the form {"requests": ["edge 1 2 id=T7"]}, with nothing else in it)",
                          kBadRequest);
      } else {
        read_text_lines(call.body, use);
      }
    } catch (const TooManyLines&) {
      return error_of("a call has at most " + std::to_string(kMostLines) + " requests; send them in parts", kTooLarge);
    }
    std::vector<std::string> ids;
    ids.reserve(taken.requests.size());
    for (const Request& request : taken.requests) ids.push_back(request.id);
    quarantine.add(taken.bad);
    Acknowledgement result;
    try {
      if (!ids.empty()) result = intake.submit(std::move(taken.requests));
    } catch (const IdConflictError& error) {
      return tell_conflicts(error.conflicts, taken, call.memory);
    }
    Answer answer;
    answer.body = "{\"acknowledged\":[";
    for (std::size_t i = 0; i < ids.size(); ++i) {
      Json one = {{"id", std::move(ids[i])}, {"sequence", result.last - ids.size() + 1 + i}};
      if (result.known[i]) one["known"] = true;
      answer.body.append(i == 0 ? "" : ",").append(text_of_json(one));
    }
    answer.body.append("],\"refused\":[").append(taken.refused).append("]");
    if (ids.empty()) {
      answer.status = kBadRequest;
      answer.body.append(taken.count == 0 ? R"(,"error":"there is no request in the body")"
                                          : R"(,"error":"there is no request that can be read")");
    }
    answer.body += "}\n";
    return answer;
  }

  /// Nothing of the call is taken: its sender may mend it and send it again as a whole.
  static Answer tell_conflicts(const std::vector<IdConflict>& conflicts, const TakenLines& taken, CallMemory& memory) {
    constexpr std::uint64_t kAnsweredConflict = 1024;
    Json all = Json::array();
    for (const IdConflict& conflict : conflicts) {
      memory.add(kAnsweredConflict + 8 * conflict.id.size());
      all.push_back(json_of(conflict, taken.lines));
    }
    const IdConflict& first = conflicts.front();
    const std::string place =
        first.earlier_in_batch ? "line " + std::to_string(taken.lines[*first.earlier_in_batch]) : "";
    return answer_of({{"error", "line " + std::to_string(taken.lines[first.index]) + ": " + text_of(first, place) +
                                    "; give this request an id of its own; nothing of the call was taken"},
                      {"conflicts", std::move(all)}},
                     kConflict);
  }

  /// Its answer comes when the purge is done. Those of requests come meanwhile: they are refused,
  /// and may be sent again.
  Answer purge(Call& call, const std::string&) {
    PurgeOptions purge;
    if (!read_purge_options(call.body, purge))
      return error_of(R"(the body is not of the form {"always": false, "keep_order": false, "without_feeds": false}, )"
                      "each of which may be left out, with nothing else in it",
                      kBadRequest);
    try {
      return answer_of(json_of(intake.purge(purge)));
    } catch (const BusyError&) {
      throw;
    } catch (const DataError& error) {  // readers of a feed have yet to take what was removed
      return error_of(command_text(error.message()), intake.ready() ? kConflict : kServerError);
    }
  }

  Answer tell(Call&, const std::string& id) {
    const std::optional<RequestState> state = intake.find(id);
    if (state && !state->applied) return answer_of(json_of(id, *state));
    const auto [found, removal] = lookup.find(id);
    if (!found && state) return answer_of(json_of(id, *state));
    if (!found) return error_of("no request has this id", kNotFound);
    Json json = {{"id", id}};
    json.update(json_of(*found));
    if (state && state->sequence == found->sequence) json["batch"] = state->batch;  // not that of a repetition
    if (removal) json["removal"] = json_of(*removal);
    return answer_of(json);
  }

  /// Each of several models has a file of receipts; the query says whose is asked for, else it is
  /// that of the first one.
  Answer tell_receipt(Call& call, const std::string& id) {
    if (!lookup.has_receipts()) return error_of("this service writes no receipts", kNotFound);
    std::string name = options.models.empty() ? std::string() : options.models.front();
    try {
      const std::optional<std::string> model = query_member(call.head.target, "model");
      if (model && std::find(options.models.begin(), options.models.end(), *model) == options.models.end())
        return error_of("no model of this name follows the service", kNotFound);
      if (model) name = *model;
    } catch (const UsageError& error) {
      return error_of(error.message(), kBadRequest);
    }
    Answer answer;
    answer.body = lookup.receipt(name, id, lookup.find(id), call.memory);
    if (answer.body.empty())
      return error_of("no receipt has this id: its request waits for the model, or was forgotten without one",
                      kNotFound);
    answer.body += '\n';
    return answer;
  }

  Answer tell_certificates(Call& call, const std::string& model) {
    Answer answer{200, "", "application/x-ndjson"};
    if (!is_model_name(model)) return error_of("there is no certificate of this model", kNotFound);
    const fs::path log = public_log(store, model);
    if (is_file(log)) {
      const std::uint64_t bytes = status_of(log).bytes;
      call.memory.add(bytes);
      answer.body.reserve(bytes);
      static_cast<void>(read_lines(log, [&](std::string_view line, std::uint64_t) {
        if (answer.body.size() + line.size() < bytes) answer.body.append(line) += '\n';  // not what was added meanwhile
      }));
    }
    if (answer.body.empty()) return error_of("there is no certificate of this model", kNotFound);
    return answer;
  }

  Answer predict(Call& call, const std::string&) { return predictions.predict(call); }
  Answer score_pairs(Call& call, const std::string&) { return predictions.score_pairs(call); }
  Answer best_links(Call& call, const std::string& node) { return predictions.best_links(call, node); }

  Answer log_in(Call& call, const std::string&) {
    const std::optional<std::string> token = form_member(call.body, "token");
    return token && callers.is_token(*token) ? to_page(browsers.begin()) : login_answer(true);
  }

  Answer log_out(Call& call, const std::string&) { return to_page(browsers.end(call.head.cookie)); }

  /// One at a time (Lane::look_ups), and beside the memory that all calls share in what the store's
  /// readers have.
  Answer show_page(Call& call, const std::string&) {
    const bool has_cookie = callers.need_token() && !callers.has_token(call.head);
    return desk.show(form_member(query_of(call.head.target), "find").value_or(""), has_cookie, call.memory);
  }

  static Json stuck_json(const IntakeCounts& counts) {
    Json all = Json::array();
    for (const auto& [name, why] : counts.stuck_models) all.push_back({{"name", name}, {"why", command_text(why)}});
    return all;
  }

  Answer tell_status(Call&, const std::string&) {
    const IntakeCounts counts = intake.counts();
    Json json = {{"ready", intake.ready()},
                 {"acknowledged", counts.acknowledged},
                 {"applied", counts.applied},
                 {"rejected", counts.rejected},
                 {"waiting", counts.waiting},
                 {"overdue", counts.overdue},
                 {"batches", counts.batches},
                 {"models", options.models},
                 {"stuck_models", stuck_json(counts)},
                 {"unpurged", counts.unpurged},
                 {"unpurged_since", json_of(counts.unpurged_since)},
                 {"purge_due", json_of(counts.purge_due)},
                 {"growing", counts.growing},
                 {"purging", counts.purging},
                 {"purges", counts.purges},
                 {"last_purge", json_of(counts.last_purge)}};
    if (!counts.purge_error.empty()) json["purge_error"] = command_text(counts.purge_error);
    return answer_of(json);
  }

  Answer tell_ready(Call&, const std::string&) {
    const bool ready = intake.ready();
    const IntakeCounts counts = intake.counts();
    Answer answer = answer_of({{"ready", ready}, {"purging", counts.purging}, {"growing", counts.growing}},
                              ready ? 200 : kUnavailable);
    if (!ready) answer.headers.emplace_back("Retry-After", "1");
    return answer;
  }

  Answer tell_metrics(Call&, const std::string&) {
    return {200, metrics_text(intake.counts(), intake.ready()), "text/plain; version=0.0.4"};
  }

  static constexpr std::uint64_t kAnsweredRequest =
      256;  // objects of one, and what the answer says beside ids and texts

  const fs::path store;
  Intake& intake;
  Resources& resources;
  ReadLine read_line;
  const HttpOptions options;
  Quarantine quarantine;
  const Reservation set_aside;
  MemoryBudget call_memory;
  Listener listener;
  const Callers callers;
  Browsers browsers;
  const RequestLookup lookup;
  const OfficerDesk desk;
  const PredictionDesk predictions;
  HttpTransport transport;
  std::string location;
};

std::span<const HttpService::Impl::Route> HttpService::Impl::routes() {
  static constexpr Route kRoutes[] = {
      {"requests", false, true, "", &Impl::take},
      {"requests", true, false, "", &Impl::tell},
      {"receipts", true, false, "model", &Impl::tell_receipt},
      {"certificates", true, false, "", &Impl::tell_certificates},
      {"predict", false, false, "nodes,graphs,model", &Impl::predict},
      {"pairs", false, true, "model", &Impl::score_pairs},
      {"links", true, false, "top,model", &Impl::best_links},
      {"status", false, false, "", &Impl::tell_status},
      {"purge", false, true, "", &Impl::purge},
      {"ready", false, false, "", &Impl::tell_ready},
      {"metrics", false, false, "", &Impl::tell_metrics},
      {"", false, false, "find", &Impl::show_page},
      {"login", false, true, "", &Impl::log_in},
      {"logout", false, true, "", &Impl::log_out},
  };
  return kRoutes;
}

Reservation HttpService::reserve_calls(MemoryBudget& budget) {
  return budget.reserve(std::min(kMostCallMemory, memory_shares::kCalls.of(budget)), "calls");
}

HttpService::HttpService(const fs::path& store, Intake& intake, Resources& resources, Reservation calls,
                         ReadLine read_line, HttpOptions options)
    : impl_(std::make_unique<Impl>(store, intake, resources, std::move(calls), std::move(read_line),
                                   std::move(options))) {}
HttpService::~HttpService() = default;

const std::string& HttpService::location() const noexcept {
  return impl_->location;
}

void HttpService::run() {
  impl_->transport.run();
}

void HttpService::stop() {
  impl_->transport.stop();
}

}  // namespace unweave
